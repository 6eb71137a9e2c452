import { expect, test } from 'bun:test';
import { ByteCache } from '../../src/http/byte-cache.ts';

const MIB = 1 << 20;

test('the least recently used replies are evicted at the limit of bytes', () => {
  const cache = new ByteCache(100);
  for (const key of ['a', 'b', 'c']) cache.set(key, new Uint8Array(40));
  expect([cache.get('a'), cache.bytes]).toEqual([null, 80]);
  expect(cache.get('b')?.length).toBe(40);
  cache.set('d', new Uint8Array(40));
  expect(cache.get('c')).toBeNull();
  expect(cache.get('b')?.length).toBe(40);
  cache.delete('b');
  expect(cache.bytes).toBe(40);
});

test('a reply of 16 MiB is cached where it takes half of the limit at most, and a longer one is not', () => {
  const isCached = (limit: number, bytes: number) => {
    const cache = new ByteCache(limit);
    cache.set('a', new Uint8Array(bytes));
    return cache.get('a') !== null;
  };
  expect(isCached(64 * MIB, 16 * MIB)).toBe(true);
  expect(isCached(64 * MIB, 16 * MIB + 1)).toBe(false);
  expect(isCached(32 * MIB, 16 * MIB)).toBe(true);
  expect(isCached(20 * MIB, 10 * MIB + 1)).toBe(false);
});
