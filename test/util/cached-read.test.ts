import { afterAll, beforeAll, expect, test } from 'bun:test';
import { closeSync, fsyncSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readIfCached } from '../../src/util/cached-read.ts';

const SIZE = 300_000;
const bytes = crypto.getRandomValues(new Uint8Array(65_536));
const at = (offset: number) => bytes[offset % bytes.length]!;
let dir: string;
let fd: number;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-cached-'));
  fd = openSync(join(dir, 'file'), 'w+');
  for (let done = 0; done < SIZE; ) done += writeSync(fd, bytes, 0, Math.min(bytes.length, SIZE - done));
  fsyncSync(fd);
});
afterAll(() => {
  closeSync(fd);
  rmSync(dir, { recursive: true });
});

const expected = (offset: number, length: number) => Uint8Array.from({ length }, (_, i) => at(offset + i)).toHex();

test.if(process.platform === 'linux')(
  'returns what has just been read, or nothing on a file system without such reads',
  () => {
    const buffer = new Uint8Array(SIZE);
    readSync(fd, buffer, 0, SIZE, 0);
    // A file system in memory (tmpfs) has none.
    const isSupported = readIfCached(fd, 0, 1) !== null;
    for (const [offset, length] of [
      [0, 1],
      [4096, 4096],
      [5000, 10_000],
      [100_000, 65_536],
      [SIZE - 7, 7],
    ] as const)
      expect(readIfCached(fd, offset, length)?.toHex() ?? null).toBe(isSupported ? expected(offset, length) : null);
  },
);

test('returns null beyond the end of the file, for large parts and for a descriptor that is not open', () => {
  expect(readIfCached(fd, SIZE - 7, 8)).toBeNull();
  expect(readIfCached(fd, SIZE + 1, 1)).toBeNull();
  expect(readIfCached(fd, 0, 65_537)).toBeNull();
  expect(readIfCached(-1, 0, 10)).toBeNull();
});
