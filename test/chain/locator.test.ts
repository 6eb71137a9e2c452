import { expect, test } from 'bun:test';
import { locatorOf } from '../../src/chain/chain-entry.ts';
import { TestEntry } from '../consensus/chain-fixture.ts';

/** A chain whose hashes are the heights. */
function chain(length: number): TestEntry {
  let tip: TestEntry | null = null;
  for (let height = 0; height < length; height++)
    tip = new TestEntry(tip, { time: height, bits: 0x207f_ffff }, Uint8Array.of(height >> 8, height));
  return tip!;
}
const heights = (tip: TestEntry) => locatorOf(tip).map(([high, low]) => high! * 256 + low!);

test('a locator has the newest hashes, then doubling steps, then the genesis block', () => {
  expect(heights(chain(1))).toEqual([0]);
  expect(heights(chain(12))).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  expect(heights(chain(101))).toEqual([100, 99, 98, 97, 96, 95, 94, 93, 92, 91, 90, 89, 87, 83, 75, 59, 27, 0]);
});
