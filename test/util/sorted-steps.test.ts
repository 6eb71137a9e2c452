import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { runSteps } from '../../src/util/slices.ts';
import { sortedIndexes } from '../../src/util/sorted-steps.ts';

/** Items of one step. */
const STEP = 4096;

test('sorting in steps gives the order of a stable sort', () => {
  const lengths = fc.constantFrom(0, 1, 2, STEP - 1, STEP, STEP + 1, 2 * STEP + 7, 5 * STEP + 3);
  fc.assert(
    fc.property(lengths, fc.integer({ min: 1, max: 5000 }), fc.integer(), (length, distinct, seed) => {
      const values = Array.from({ length }, (_, i) => (Math.imul(i ^ seed, 0x9e37_79b1) >>> 0) % distinct);
      const indexes = Array.from(values, (_, i) => i);
      const sorted = indexes.toSorted((a, b) => values[a]! - values[b]!);
      expect([...runSteps(sortedIndexes(length, (a, b) => values[a]! - values[b]!))]).toEqual(sorted);
    }),
    { numRuns: 40 },
  );
});

test('a step compares a bounded number of times', () => {
  let compared = 0;
  let most = 0;
  const count = 20 * STEP;
  const values = Array.from({ length: count }, (_, i) => Math.imul(i, 0x9e37_79b1));
  const compare = (a: number, b: number) => {
    compared++;
    return values[a]! - values[b]!;
  };
  runSteps(sortedIndexes(count, compare), () => {
    most = Math.max(most, compared);
    compared = 0;
  });
  // A native sort of one step's items.
  expect(most).toBeLessThan(STEP * 14);
});
