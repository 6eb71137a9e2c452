import { expect, test } from 'bun:test';
import { hexToBytes } from '../../src/util/bytes.ts';
import { murmur3 } from '../../src/util/murmur3.ts';
import { RollingBloomFilter } from '../../src/util/rolling-bloom-filter.ts';
import { Random } from '../fuzz/random.ts';

// The vectors of Core's hash tests.
test.each([
  [0x0000_0000, 0x0000_0000, ''],
  [0x6a39_6f08, 0xfba4_c795, ''],
  [0x81f1_6f39, 0xffff_ffff, ''],
  [0x514e_28b7, 0x0000_0000, '00'],
  [0xea3f_0b17, 0xfba4_c795, '00'],
  [0xfd6c_f10d, 0x0000_0000, 'ff'],
  [0x16c6_b7ab, 0x0000_0000, '0011'],
  [0x8eb5_1c3d, 0x0000_0000, '001122'],
  [0xb447_1bf8, 0x0000_0000, '00112233'],
  [0xe230_1fa8, 0x0000_0000, '0011223344'],
  [0xfc2e_4a15, 0x0000_0000, '001122334455'],
  [0xb074_502c, 0x0000_0000, '00112233445566'],
  [0x8034_d2a0, 0x0000_0000, '0011223344556677'],
  [0xb469_8def, 0x0000_0000, '001122334455667788'],
])('murmur3 yields %d with seed %d for %s', (expected, seed, hex) =>
  expect(murmur3(seed, hexToBytes(hex))).toBe(expected),
);

function fixture(elements: number, rate: number) {
  const random = new Random(1);
  const filter = new RollingBloomFilter(elements, rate, () => random.u32());
  const data = Array.from({ length: 399 }, () => random.bytes(32));
  return { random, filter, data };
}

test('the last elements are contained for certain, others at the configured rate', () => {
  const { random, filter, data } = fixture(100, 0.01);
  for (const item of data) filter.insert(item);
  for (const item of data.slice(-100)) expect(filter.contains(item)).toBe(true);
  let hits = 0;
  for (let i = 0; i < 10_000; i++) if (filter.contains(random.bytes(32))) hits++;
  expect(hits).toBeGreaterThan(20);
  expect(hits).toBeLessThan(180);
});

test('the last elements are contained after every insertion', () => {
  const { random, filter, data } = fixture(100, 0.01);
  data.forEach((item, i) => {
    if (i >= 100) expect(filter.contains(data[i - 100]!)).toBe(true);
    filter.insert(item);
    expect(filter.contains(item)).toBe(true);
  });
  for (let i = 0; i < 999; i++) filter.insert(random.bytes(32));
  // Removed, except for a few false positives.
  expect(data.filter((item) => filter.contains(item)).length).toBeLessThan(20);
});

test('the filter has room for the configured number of elements', () => {
  const { filter, data } = fixture(1000, 0.001);
  for (const item of data) filter.insert(item);
  expect(data.every((item) => filter.contains(item))).toBe(true);
});

test('reset removes all elements', () => {
  const { filter, data } = fixture(100, 0.01);
  for (const item of data) filter.insert(item);
  filter.reset();
  expect(data.filter((item) => filter.contains(item))).toEqual([]);
});
