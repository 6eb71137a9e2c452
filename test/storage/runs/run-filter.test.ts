import { describe, expect, test } from 'bun:test';
import { sha256 } from '../../../src/crypto/hash-functions.ts';
import { FilterKey, RunFilter } from '../../../src/storage/runs/run-filter.ts';

const KEY_SIZE = 36;

/** Keys as txids are: hashes. `from` keeps two sets apart. */
function keys(from: number, count: number): Uint8Array {
  const bytes = new Uint8Array(count * KEY_SIZE);
  for (let i = 0; i < count; i++) bytes.set(sha256(new TextEncoder().encode(String(from + i))), i * KEY_SIZE);
  return bytes;
}

function hits(filter: RunFilter, set: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < set.length; at += KEY_SIZE) if (filter.mayHold(new FilterKey().load(set, at))) count++;
  return count;
}

describe('the filter of a run', () => {
  test.each([1, 7, 25, 26, 1000, 50_000])('of %d keys holds all of them, and less than 2 %% of others', (count) => {
    for (const salt of [0, 0xffff_ffff, 0x1234_5678]) {
      const filter = RunFilter.sized(count, salt);
      const own = keys(0, count);
      for (let at = 0; at < own.length; at += KEY_SIZE) filter.addKey(own, at);
      expect(hits(filter, own)).toBe(count);
      const others = 20_000;
      expect(hits(filter, keys(1_000_000, others))).toBeLessThan(others * 0.02);
    }
  });

  test('that is empty holds nothing', () => {
    expect(hits(RunFilter.sized(0, 1), keys(0, 1000))).toBe(0);
  });

  test('holds the same after its words were stored', () => {
    const filter = RunFilter.sized(100, 77);
    const own = keys(0, 100);
    for (let at = 0; at < own.length; at += KEY_SIZE) filter.addKey(own, at);
    const loaded = new RunFilter(filter.words.slice(), 77, true);
    const both = keys(0, 5000);
    for (let at = 0; at < both.length; at += KEY_SIZE) {
      const key = new FilterKey().load(both, at);
      expect(loaded.mayHold(key)).toBe(filter.mayHold(key));
    }
  });

  test('of some outputs of a transaction does not hold most of the others', () => {
    const outputs = 5000;
    const own = new Uint8Array(2 * outputs * KEY_SIZE);
    for (let n = 0; n < 2 * outputs; n++) {
      own.set(keys(0, 1), n * KEY_SIZE);
      new DataView(own.buffer).setUint32(n * KEY_SIZE + 32, n);
    }
    const filter = RunFilter.sized(outputs, 5);
    const added = own.subarray(0, outputs * KEY_SIZE);
    for (let at = 0; at < added.length; at += KEY_SIZE) filter.addKey(added, at);
    expect(hits(filter, added)).toBe(outputs);
    expect(hits(filter, own.subarray(added.length))).toBeLessThan(outputs * 0.02);
  });

  // Its words are those that earlier versions wrote for these keys.
  test('of txids is read as earlier versions wrote it', () => {
    const filter = new RunFilter(new Uint32Array(RunFilter.sized(1000, 77).words.length), 77, false);
    const own = keys(0, 1000);
    for (let at = 0; at < own.length; at += KEY_SIZE) {
      own[at + 35] = at;
      filter.addKey(own, at);
    }
    expect(Bun.hash.crc32(filter.words)).toBe(0xf992bc65);
  });
});
