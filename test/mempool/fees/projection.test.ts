import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { MempoolCoverage, nextBlockFeerates } from '../../../src/mempool/fees/mempool-policy.ts';
import { projectBlocks } from '../../../src/mempool/fees/projected-blocks.ts';

/** `count` chunks of a weight, each paying so many satoshis to a virtual byte. */
const chunks = (count: number, weight: number, rate: number) =>
  Array.from({ length: count }, () => ({ fee: (rate * weight) / 4, size: weight, count: 1 }));

describe('what the next block would hold', () => {
  test('is told at half and at three quarters of it', () => {
    const all = [...chunks(10, 150_000, 50), ...chunks(10, 100_000, 20), ...chunks(10, 100_000, 3)];
    // 1.5 million at 50, 1 million at 20, 1 million at 3.
    expect(nextBlockFeerates(all)).toEqual({ half: 20_000, threeQuarters: 3000 });
    expect(nextBlockFeerates(all.slice(0, 20))).toEqual({ half: 20_000, threeQuarters: null });
    expect(nextBlockFeerates([])).toEqual({ half: null, threeQuarters: null });
  });

  test('counts only where blocks hold what the mempool held', () => {
    const coverage = new MempoolCoverage();
    const add = (height: number, weight: number, knownWeight: number) => coverage.add({ height, weight, knownWeight });
    for (let height = 1; height <= 5; height++) add(height, 1_000_000, 1_000_000);
    expect(coverage.problem()).toBe('Not enough recent block data for fee rate estimation');
    add(6, 1_000_000, 1_000_000);
    expect(coverage.problem()).toBeNull();
    for (let height = 7; height <= 9; height++) add(height, 1_000_000, 100_000);
    expect(coverage.problem()).toBe('Mempool is unreliable for fee rate estimation');
    // A gap begins anew, a reorganization takes back what it undoes.
    add(8, 1_000_000, 1_000_000);
    expect(coverage.blocks.map(({ height }) => height)).toEqual([3, 4, 5, 6, 7, 8].slice(-coverage.blocks.length));
    add(20, 1, 1);
    expect(coverage.blocks).toHaveLength(1);
    // Nearly empty blocks say nothing against it.
    for (let height = 21; height <= 26; height++) add(height, 1000, 0);
    expect(coverage.problem()).toBeNull();
  });
});

describe('projected blocks', () => {
  test('hold everything once, the best first, eight at most', () => {
    const size = fc.integer({ min: 400, max: 400_000 });
    const chunk = fc.record({ fee: fc.integer({ min: 1, max: 1e8 }), size, count: fc.integer({ min: 1, max: 25 }) });
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 60 }), (unsorted) => {
        const all = unsorted.toSorted((a, b) => b.fee / b.size - a.fee / a.size);
        const blocks = projectBlocks(all);
        const weight = all.reduce((sum, each) => sum + each.size, 0);
        if (blocks.length < 8) {
          expect(blocks.reduce((sum, { txCount }) => sum + txCount, 0)).toBe(
            all.reduce((sum, { count }) => sum + count, 0),
          );
          expect(blocks.reduce((sum, { totalFee }) => sum + totalFee, 0)).toBe(
            all.reduce((sum, { fee }) => sum + fee, 0),
          );
          expect(Math.abs(blocks.reduce((sum, { vsize }) => sum + vsize, 0) - weight / 4)).toBeLessThan(8);
        }
        expect(blocks.length).toBeLessThanOrEqual(8);
        for (const { vsize, feeRange, medianFeeRate } of blocks) {
          expect(vsize).toBeLessThanOrEqual(998_000);
          expect(feeRange).toEqual(feeRange.toSorted((a, b) => a - b));
          expect(feeRange[2]).toBe(medianFeeRate);
        }
        for (let i = 1; i < blocks.length; i++)
          expect(blocks[i]!.feeRange.at(-1)!).toBeLessThanOrEqual(blocks[i - 1]!.feeRange[0]!);
      }),
    );
  });
});
