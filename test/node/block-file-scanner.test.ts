import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlockFileScanner } from '../../src/node/block-file-scanner.ts';
import { concatBytes } from '../../src/util/bytes.ts';

const MAGIC = 0xdab5_bffa;
const WINDOW = 65_536;

let path: string;
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'obverse-scan-')), 'blocks.dat');
});
afterEach(() => rmSync(join(path, '..'), { recursive: true }));

function record(body: Uint8Array, { magic = MAGIC, size = body.length } = {}): Uint8Array {
  const head = new Uint8Array(8);
  const view = new DataView(head.buffer);
  view.setUint32(0, magic, true);
  view.setUint32(4, size, true);
  return concatBytes(head, body);
}

const filled = (length: number, byte: number) => new Uint8Array(length).fill(byte);

/** Returns offset, size and first byte of each block that the scanner finds. */
function scan(...parts: Uint8Array[]): string[] {
  writeFileSync(path, concatBytes(...parts));
  const scanner = new BlockFileScanner(path, MAGIC);
  const found: string[] = [];
  for (let block = scanner.next(); block; block = scanner.next()) {
    found.push(`${block.offset} ${block.raw.length} ${block.raw[0]}`);
    expect(scanner.readAt(block.offset)).toEqual(block.raw);
  }
  expect(scanner.position).toBe(scanner.size);
  expect(scanner.next()).toBeNull();
  scanner.close();
  return found;
}

describe('BlockFileScanner', () => {
  test('the scanner finds consecutive records up to the last byte', () => {
    expect(scan(record(filled(80, 1)), record(filled(90, 2)))).toEqual(['0 80 1', '88 90 2']);
  });

  test('the scanner finds no record in an empty file, nor in one shorter than a header', () => {
    expect(scan()).toEqual([]);
    expect(scan(record(filled(80, 1)).subarray(0, 7))).toEqual([]);
    expect(scan(record(filled(79, 1)))).toEqual([]);
  });

  test('the scanner skips any number of zeros', () => {
    const zeros = 3 * 1024 * 1024 + 5;
    expect(scan(filled(zeros, 0), record(filled(80, 1)), filled(100_000, 0))).toEqual([`${zeros} 80 1`]);
  });

  test('the scanner skips bytes that resemble the beginning of a record', () => {
    const start = record(new Uint8Array(0));
    const first = start.subarray(0, 1);
    const almost = concatBytes(first, first, start.subarray(0, 2), first, start.subarray(0, 3));
    expect(scan(almost, record(filled(80, 1)))).toEqual(['8 80 1']);
    // The magic is followed by a size that no block has: too small, too large, or beyond the end of the file.
    for (const size of [0, 79, 4_000_001, 0xffff_ffff])
      expect(scan(record(new Uint8Array(0), { size }), record(filled(80, 2)))).toEqual(['8 80 2']);
    expect(scan(record(filled(80, 0), { magic: 0xd9b4_bef9 }), record(filled(80, 3)))).toEqual(['88 80 3']);
  });

  test('the scanner skips a truncated record and finds the records behind it', () => {
    const cut = record(filled(200, 1)).subarray(0, 150);
    expect(scan(record(filled(80, 2)), cut)).toEqual(['0 80 2']);
    expect(scan(record(filled(80, 2)), record(filled(0, 0), { size: 3_000_000 }), record(filled(80, 3)))).toEqual([
      '0 80 2',
      '96 80 3',
    ]);
  });

  test('the scanner finds records at every offset of its window', () => {
    for (let before = WINDOW - 10; before <= WINDOW + 2; before++)
      expect(scan(filled(before, 0), record(filled(80, 1)))).toEqual([`${before} 80 1`]);
    const large = record(filled(WINDOW * 3, 1));
    expect(scan(large, record(filled(80, 2)))).toEqual([`0 ${WINDOW * 3} 1`, `${WINDOW * 3 + 8} 80 2`]);
  });
});
