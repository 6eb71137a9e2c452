import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { keyOrder } from '../../src/util/sorted-order.ts';

test('keyOrder sorts by key and keeps the order of equal keys', () => {
  const key = fc.oneof(fc.nat(5), fc.integer({ min: 0, max: 0xffff_ffff }));
  fc.assert(
    fc.property(fc.array(key, { maxLength: 300 }), (keys) => {
      const expected = keys.map((_, i) => i).sort((a, b) => keys[a]! - keys[b]! || a - b);
      expect([...keyOrder(keys.length, (i) => keys[i]!).order]).toEqual(expected);
    }),
  );
});

test('keyOrder contains each index once, for powers of two as well', () => {
  for (const count of [0, 1, 2, 3, 4, 255, 256, 257, 65_536]) {
    const { order } = keyOrder(count, (i) => (i * 2_654_435_761) >>> 0);
    expect(order).toHaveLength(count);
    expect(new Set(order).size).toBe(count);
  }
});
