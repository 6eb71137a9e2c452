import { afterEach, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { parseNetAddress, printService } from '../../../src/p2p/address/address-text.ts';
import type { ByteStream } from '../../../src/p2p/connections/byte-stream.ts';
import { DialError, tcpDial } from '../../../src/p2p/connections/dial.ts';
import { systemTiming } from '../../../src/p2p/connections/timing.ts';
import { I2pNetwork } from '../../../src/p2p/i2p/i2p-network.ts';
import {
  addressOfPeerLine,
  decodeI2pBase64,
  destinationOf,
  encodeI2pBase64,
  parseSamReply,
} from '../../../src/p2p/i2p/sam-reply.ts';
import { memoryLog, until } from '../connections/net-fixture.ts';
import { lineServer } from '../lib/line-server.ts';
import { addressOf, destination, i2pBase64, keyOf, PEER, router as samRouter } from '../lib/sam-router.ts';

function router(replies?: Parameters<typeof samRouter>[0]) {
  const server = samRouter(replies);
  cleanups.push(server.stop);
  return server;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function i2p(port: number, isLasting: boolean) {
  const folder = mkdtempSync(join(tmpdir(), 'i2p-'));
  const keyFile = join(folder, 'i2p_private_key');
  const { log, lines } = memoryLog();
  const abort = new AbortController();
  const sam = { host: '127.0.0.1', port };
  const network = new I2pNetwork({
    sam,
    keyFile: isLasting ? keyFile : null,
    dial: tcpDial(systemTiming),
    timing: systemTiming,
    log,
  });
  cleanups.push(
    () => rmSync(folder, { recursive: true }),
    () => network.close(),
    () => abort.abort(new Error('stopped')),
  );
  return { network, keyFile, log: lines, signal: abort.signal, abort };
}

async function failure(promise: Promise<unknown>): Promise<DialError> {
  const error = await promise.then(
    () => null,
    (error) => error,
  );
  expect(error).toBeInstanceOf(DialError);
  return error;
}

function received(stream: ByteStream): () => string {
  let text = '';
  stream.attach({ data: (bytes) => void (text += new TextDecoder().decode(bytes)), drain: () => {}, closed: () => {} });
  return () => text;
}

test('a lasting address has its key in a file of mode 600, and all connections share its session', async () => {
  const server = router();
  const { network, keyFile, signal, log } = i2p(server.port, true);
  const streams = await Promise.all([network.connect(PEER, signal), network.connect(PEER, signal)]);
  expect(readFileSync(keyFile).equals(keyOf(1))).toBe(true);
  expect(statSync(keyFile).mode & 0o777).toBe(0o600);
  for (const stream of streams)
    expect([stream.local, stream.remote]).toEqual([{ address: addressOf(1), port: 0 }, PEER]);
  const sessions = server.lines.filter((line) => line.startsWith('SESSION'));
  expect(sessions).toEqual([
    expect.stringMatching(
      /^SESSION CREATE STYLE=STREAM ID=[0-9a-f]{10} DESTINATION=\S+ i2cp.leaseSetEncType=4,0 inbound.quantity=3 outbound.quantity=3$/,
    ),
  ]);
  expect(log().join('\n')).not.toContain(i2pBase64(keyOf(1)).slice(0, 100));
  network.close();
  const later = await network.connect(PEER, signal);
  expect(later.local?.address).toEqual(addressOf(1));
  expect(server.lines.filter((line) => line.startsWith('DEST GENERATE')).length).toBe(1);
});

test('without a lasting address each connection has its own, whose session ends with it', async () => {
  const server = router();
  const { network, keyFile, signal } = i2p(server.port, false);
  const first = await network.connect(PEER, signal);
  const second = await network.connect(PEER, signal);
  expect([first.local?.address, second.local?.address]).toEqual([addressOf(1), addressOf(2)]);
  expect(existsSync(keyFile)).toBe(false);
  expect(server.lines.find((line) => line.startsWith('SESSION'))).toContain('DESTINATION=TRANSIENT SIGNATURE_TYPE=7');
  const text = received(first);
  server.clients[1]!.send('hello');
  await until(() => text() === 'hello');
  first.close();
  await network.connect(PEER, signal);
  expect(server.lines.filter((line) => line.startsWith('SESSION')).length).toBe(3);
});

test('the session of a failed connection is used for the next one', async () => {
  let fails = true;
  const server = router((_, line) =>
    fails && line.startsWith('STREAM') ? 'STREAM STATUS RESULT=CANT_REACH_PEER' : null,
  );
  const { network, signal } = i2p(server.port, false);
  expect(await failure(network.connect(PEER, signal))).toMatchObject({
    message: 'I2P router: CANT_REACH_PEER',
    proxyFailed: false,
  });
  fails = false;
  expect((await network.connect(PEER, signal)).local?.address).toEqual(addressOf(1));
});

test('an address with a port is refused, and no router is named', async () => {
  const { network, signal, log } = i2p(1, true);
  expect((await failure(network.connect({ ...PEER, port: 8333 }, signal))).message).toBe(
    'connection refused due to arbitrary port 8333',
  );
  expect(await failure(network.connect(PEER, signal))).toMatchObject({
    message: 'Cannot connect to 127.0.0.1:1',
    proxyFailed: true,
  });
  expect(log().some((line) => line.includes(printService(PEER)))).toBe(true);
});

test('a session that the router has forgotten is made again', async () => {
  let forgets = true;
  const server = router((_, line) => (forgets && line.startsWith('STREAM') ? 'STREAM STATUS RESULT=INVALID_ID' : null));
  const { network, signal } = i2p(server.port, true);
  expect((await failure(network.connect(PEER, signal))).message).toBe('I2P router: INVALID_ID');
  forgets = false;
  await network.connect(PEER, signal);
  expect(server.lines.filter((line) => line.startsWith('SESSION')).length).toBe(2);
});

test('peers are accepted one after another, with what they have sent at once', async () => {
  const server = router();
  const { network, signal, abort } = i2p(server.port, true);
  const peers: ByteStream[] = [];
  const own: (string | null)[] = [];
  const ended = network
    .acceptPeers(
      (stream) => peers.push(stream),
      (service) => own.push(service && printService(service)),
      signal,
    )
    .catch((error) => error);
  const waiting = () => server.clients.filter(({ lines }) => lines.at(-1)?.startsWith('STREAM ACCEPT'));
  await until(() => waiting().length === 1 && own.length === 1);
  waiting()[0]!.send(`${i2pBase64(destination(60))} FROM_PORT=0 TO_PORT=0\nhello`);
  await until(() => peers.length === 1 && waiting().length === 2);
  expect(peers[0]!.remote).toEqual({ address: addressOf(60), port: 0 });
  const text = received(peers[0]!);
  await until(() => text() === 'hello');
  waiting()[1]!.send(`${i2pBase64(destination(61))}\n`);
  await until(() => peers.length === 2);
  expect(new Set(own)).toEqual(new Set([printService({ address: addressOf(1), port: 0 })]));
  abort.abort(new Error('stopped'));
  expect(await ended).toHaveProperty('message', 'stopped');
  expect(own.at(-1)).toBeNull();
});

test('the address is not announced while the router is away, and the node tries again', async () => {
  const server = router((client, line) => {
    if (!line.startsWith('STREAM ACCEPT') || client.number > 1) return null;
    return 'STREAM STATUS RESULT=OK\nSTREAM STATUS RESULT=I2P_ERROR MESSAGE="Session was closed"';
  });
  const { network, signal } = i2p(server.port, true);
  const own: (string | null)[] = [];
  network
    .acceptPeers(
      () => {},
      (service) => own.push(service && printService(service)),
      signal,
    )
    .catch(() => {});
  const address = printService({ address: addressOf(1), port: 0 });
  await until(() => own.length >= 3);
  expect(own.slice(0, 3)).toEqual([address, null, address]);
  expect(server.lines.filter((line) => line.startsWith('SESSION')).length).toBe(2);
});

test('I2P base64, destinations and replies of any text are read or refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
      expect(encodeI2pBase64(bytes)).toBe(i2pBase64(bytes));
      expect(decodeI2pBase64(i2pBase64(bytes))).toEqual(bytes);
    }),
  );
  expect(destinationOf(keyOf(3))).toEqual(destination(3));
  expect(destinationOf(keyOf(3).subarray(0, 390))).toBeNull();
  expect(addressOfPeerLine(i2pBase64(destination(9)))).toEqual(addressOf(9));
  expect(parseNetAddress(`${'a'.repeat(52)}.b32.i2p`)?.network).toBe('i2p');
  fc.assert(
    fc.property(fc.string(), (text) => {
      parseSamReply(text);
      decodeI2pBase64(text);
      expect(addressOfPeerLine(text)).toBeNull();
    }),
  );
});

test('no reply of a hostile router ends the node: a connection is refused, and no key is stored that is too long', async () => {
  const piece = fc.constantFrom(
    'HELLO REPLY ',
    'RESULT=',
    'OK',
    'I2P_ERROR',
    ' VALUE=',
    ' DESTINATION=',
    ' PRIV=',
    'AAAA',
    '=',
    '\0',
    '\n',
    'SESSION STATUS ',
    'INVALID_ID',
    ' ID=x\nSTREAM CONNECT',
    'A'.repeat(70_000),
  );
  const hostile = fc.oneof(
    fc.array(piece, { maxLength: 8 }).map((pieces) => new TextEncoder().encode(pieces.join(''))),
    fc.uint8Array({ maxLength: 60 }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(hostile, { minLength: 1, maxLength: 5 }),
      fc.nat(3),
      fc.boolean(),
      async (replies, honest, isLasting) => {
        let count = 0;
        const honestReplies = [
          'HELLO REPLY RESULT=OK',
          `DEST REPLY PRIV=${i2pBase64(keyOf(1))}`,
          'SESSION STATUS RESULT=OK',
        ];
        const server = lineServer((client) => {
          const number = count++;
          if (number < honest) client.send(`${honestReplies[number]}\n`);
          else {
            client.send(replies[(number - honest) % replies.length]!);
            client.send('\n');
            if (number > 6) client.close();
          }
        });
        const { network, signal, keyFile } = i2p(server.port, isLasting);
        const outcome = await network.connect(PEER, signal).then(
          (stream) => stream,
          (error) => error,
        );
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(DialError);
        if (existsSync(keyFile)) expect(readFileSync(keyFile).length).toBeWithin(1, 16_385);
        network.close();
        server.stop();
      },
    ),
    { numRuns: 40 },
  );
});
