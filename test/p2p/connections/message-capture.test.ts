import { afterEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Direction } from '../../../src/p2p/connections/connection.ts';
import { MessageCapture } from '../../../src/p2p/connections/message-capture.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { service, stopAll, world } from './manager-fixture.ts';
import { memoryLog, until } from './net-fixture.ts';

const dirs: string[] = [];
afterEach(async () => {
  await stopAll();
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'capture-'));
  dirs.push(dir);
  return join(dir, 'message_capture');
}

interface Captured {
  readonly micros: bigint;
  readonly type: string;
  readonly payload: Uint8Array;
}

/** Reads a file by the description of Core's format. */
function readCapture(path: string): Captured[] {
  const bytes = readFileSync(path);
  const found: Captured[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at + 20);
    const type = bytes.subarray(at + 8, at + 20).toString('latin1');
    expect(at + 24 + length).toBeLessThanOrEqual(bytes.length);
    found.push({
      micros: bytes.readBigInt64LE(at),
      type: type.replace(/\0+$/, ''),
      payload: new Uint8Array(bytes.subarray(at + 24, at + 24 + length)),
    });
    at += 24 + length;
  }
  return found;
}

const MIB = 1024 * 1024;

function capture(dir: string, limit: number) {
  const { log, lines } = memoryLog();
  const clock = new ManualClock(1_700_000_000_123);
  return { lines, clock, files: new MessageCapture({ dir, limit }, { clock, log }) };
}

test('each direction of each peer has a file with its messages in order', () => {
  const peers = ['1.2.3.4:8333', '[2001:db8::1]:8333'];
  const message = fc.record({
    peer: fc.constantFrom(...peers),
    direction: fc.constantFrom<Direction>('sent', 'received'),
    type: fc.constantFrom('inv', 'tx', 'abcdefghijkl'),
    payload: fc.uint8Array({ maxLength: 100 }),
  });
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 30 }), (messages) => {
      const dir = folder();
      const { files } = capture(dir, MIB);
      for (const { peer, direction, type, payload } of messages)
        files.record({ service: service(peer) }, direction, type, payload);
      for (const peer of peers)
        for (const [direction, name] of [
          ['received', 'msgs_recv.dat'],
          ['sent', 'msgs_sent.dat'],
        ]) {
          const path = join(dir, peer.replaceAll(':', '_'), name!);
          const mine = messages.filter((each) => each.peer === peer && each.direction === direction);
          expect(existsSync(path)).toBe(mine.length > 0);
          if (mine.length === 0) continue;
          expect(readCapture(path)).toEqual(
            mine.map(({ type, payload }) => ({ micros: 1_700_000_000_123_000n, type, payload })),
          );
          expect(statSync(path).mode & 0o777).toBe(0o600);
        }
    }),
    { numRuns: 30 },
  );
});

describe('the limit', () => {
  const from = (text: string) => ({ service: service(text) });
  const sizeOf = (dir: string) =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .map((name) => statSync(join(dir, name)))
      .filter((stats) => stats.isFile())
      .reduce((sum, { size }) => sum + size, 0);

  test('ends the capture before a message that would exceed it, and the log says so once', () => {
    const dir = folder();
    const { files, lines } = capture(dir, 8192 + 2 * (24 + 1000));
    for (let i = 0; i < 5; i++) files.record(from('1.2.3.4:1'), 'received', 'tx', new Uint8Array(1000));
    expect(sizeOf(dir)).toBe(2 * 1024);
    expect(lines().filter((line) => line.includes('has ended at its limit'))).toHaveLength(1);
  });

  test('counts files, so that many connections without messages reach it as well', () => {
    const dir = folder();
    const { files } = capture(dir, 10 * (8192 + 24));
    for (let i = 0; i < 100; i++) files.record(from(`1.2.3.4:${i + 1}`), 'received', 'verack', new Uint8Array());
    expect(readdirSync(dir)).toHaveLength(10);
  });

  test('counts the files of earlier runs', () => {
    const dir = folder();
    const first = capture(dir, MIB);
    first.files.record(from('1.2.3.4:1'), 'received', 'tx', new Uint8Array(MIB / 2));
    const second = capture(dir, MIB);
    second.files.record(from('1.2.3.4:1'), 'received', 'tx', new Uint8Array(MIB / 2));
    expect(sizeOf(dir)).toBe(MIB / 2 + 24);
  });
});

test('a folder that cannot be written ends the capture, not the node', () => {
  const dir = folder();
  writeFileSync(dir, 'a file is in its place');
  const { files, lines } = capture(dir, MIB);
  files.record({ service: service('1.2.3.4:1') }, 'sent', 'ping', new Uint8Array(8));
  expect(lines().filter((line) => line.includes('has ended at an error'))).toHaveLength(1);
});

test('a connection is captured in both directions', async () => {
  const dir = folder();
  const listen = [{ host: '127.0.0.1', port: 0 }];
  const here = world({ options: { listen, v2: false, capture: { dir, limit: MIB } } });
  const peer = await here.inbound(here.start());
  peer.send('ping', new Uint8Array(8).fill(7));
  await until(() => here.logic.messages.length === 1 && peer.messages.length === 1);
  const [name] = readdirSync(dir);
  expect(name).toMatch(/^127\.0\.0\.1_\d+$/);
  const read = (file: string) => readCapture(join(dir, name!, file)).map(({ type, payload }) => [type, payload]);
  expect(read('msgs_recv.dat')).toEqual([['ping', new Uint8Array(8).fill(7)]]);
  expect(read('msgs_sent.dat')).toEqual([['pong', new Uint8Array(8).fill(7)]]);
});
