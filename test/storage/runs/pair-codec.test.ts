import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { MAX_PAIR_SIZE, pairFirst, pairSecond, pairSize, putPair } from '../../../src/storage/runs/pair-codec.ts';

const EDGES = [
  0,
  1,
  0xff,
  0x100,
  0xffff,
  0x1_0000,
  0xff_ffff,
  0x100_0000,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 40 - 1,
  2 ** 40,
].concat([2 ** 48 - 1, 2 ** 48, 2 ** 53 - 2, 2 ** 53 - 1]);

function roundTrip(first: number, second: number, at: number): void {
  const bytes = new Uint8Array(at + MAX_PAIR_SIZE + 1).fill(0xa5);
  const end = putPair(bytes, at, first, second);
  expect([pairFirst(bytes, at), pairSecond(bytes, at), pairSize(bytes, at)]).toEqual([first, second, end - at]);
  expect(end - at).toBeLessThanOrEqual(MAX_PAIR_SIZE);
  // Bytes beside the pair are left alone.
  expect([...bytes.subarray(0, at), ...bytes.subarray(end)].every((byte) => byte === 0xa5)).toBe(true);
}

describe('a pair', () => {
  test('is read as it was written at each change of the number of bytes', () => {
    for (const first of EDGES) for (const second of EDGES) roundTrip(first, second, 3);
  });

  test('is read as it was written up to 2^53 - 1', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), fc.nat(20), (first, second, at) => roundTrip(first, second, at)),
      { numRuns: 2000 },
    );
  });

  test('of zeros is one byte, and small numbers are short', () => {
    const bytes = new Uint8Array(MAX_PAIR_SIZE);
    expect([putPair(bytes, 0, 0, 0), putPair(bytes, 0, 5, 0), putPair(bytes, 0, 0, 256)]).toEqual([1, 2, 3]);
  });
});
