import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { dueMerge, MERGE_FAN_IN } from '../../../src/storage/runs/merge-policy.ts';

/** A run of the model: its size, and how often its oldest entry was written again. */
interface ModelRun {
  readonly bytes: number;
  readonly rewrites: number;
}

/** Adds commits of these sizes and merges what is due after each. */
function commitAll(sizes: readonly number[]) {
  let runs: ModelRun[] = [];
  let mostRuns = 0;
  let rewritten = 0;
  for (const size of sizes) {
    runs.push({ bytes: size, rewrites: 0 });
    for (;;) {
      const count = dueMerge(runs.map(({ bytes }) => bytes));
      if (count === 0) break;
      expect(count).toBeGreaterThanOrEqual(MERGE_FAN_IN);
      expect(count).toBeLessThanOrEqual(runs.length);
      const merged = runs.slice(-count);
      const bytes = merged.reduce((sum, run) => sum + run.bytes, 0);
      rewritten += bytes;
      runs = [...runs.slice(0, -count), { bytes, rewrites: Math.max(...merged.map((run) => run.rewrites)) + 1 }];
    }
    mostRuns = Math.max(mostRuns, runs.length);
  }
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  expect(runs.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(total);
  return {
    runs,
    mostRuns,
    mostRewrites: Math.max(...runs.map(({ rewrites }) => rewrites)),
    average: rewritten / total,
  };
}

/** Number of size classes: below 4 KiB, then one for each power of eight. */
const tiers = (bytes: number) => 2 + Math.max(0, Math.floor(Math.log2(bytes / 4096) / 3));

describe('merging of runs', () => {
  test('keeps at most seven runs of each size class and writes each entry once per class, for commits of one size', () => {
    for (const size of [500, 5000, 100_000]) {
      const commits = 5000;
      const { mostRuns, mostRewrites } = commitAll(Array<number>(commits).fill(size));
      // Levels of merges that 5,000 commits have: 8^5 are more. Eight runs of 500 bytes remain in the smallest class.
      expect(mostRewrites).toBeLessThanOrEqual(5 + (size === 500 ? 1 : 0));
      expect(mostRuns).toBeLessThanOrEqual((MERGE_FAN_IN - 1) * tiers(size * commits));
    }
  });

  test('keeps the number of runs logarithmic, and the writes of each entry, for commits of any sizes', () => {
    const size = fc.oneof(
      { weight: 10, arbitrary: fc.integer({ min: 300, max: 8000 }) },
      { weight: 4, arbitrary: fc.integer({ min: 8000, max: 300_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: 300_000, max: 100_000_000 }) },
    );
    fc.assert(
      fc.property(fc.array(size, { minLength: 1, maxLength: 600, size: 'max' }), (sizes) => {
        const { mostRuns, mostRewrites, average } = commitAll(sizes);
        const classes = tiers(sizes.reduce((sum, bytes) => sum + bytes, 0));
        expect(mostRuns).toBeLessThanOrEqual((MERGE_FAN_IN - 1) * classes);
        // A merge that leaves a run in its class enlarges it by the eighth of the class that another run has at least.
        expect(mostRewrites).toBeLessThanOrEqual(MERGE_FAN_IN * classes);
        expect(average).toBeLessThanOrEqual(classes);
      }),
      { numRuns: 200 },
    );
  });

  test('leaves a large run alone while small ones follow it', () => {
    const large = 500_000_000;
    const { runs } = commitAll([large, ...Array<number>(2000).fill(5000)]);
    expect(runs[0]).toEqual({ bytes: large, rewrites: 0 });
  });

  test('is not due for fewer than eight runs of one size', () => {
    expect(dueMerge([])).toBe(0);
    expect(dueMerge(Array<number>(7).fill(100))).toBe(0);
    expect(dueMerge(Array<number>(8).fill(100))).toBe(8);
    expect(dueMerge([1_000_000, ...Array<number>(7).fill(100)])).toBe(0);
    expect(dueMerge([1_000_000, ...Array<number>(8).fill(100)])).toBe(8);
    // Small runs that are older than a large one can only be merged with it.
    expect(dueMerge([...Array<number>(6).fill(100), 1_000_000])).toBe(0);
    expect(dueMerge([...Array<number>(7).fill(100), 1_000_000])).toBe(8);
  });
});
