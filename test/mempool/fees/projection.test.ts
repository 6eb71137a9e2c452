import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { MempoolCoverage, nextBlockFeerates } from '../../../src/mempool/fees/mempool-policy.ts';
import { projectBlocks } from '../../../src/mempool/fees/projected-blocks.ts';

/** Returns `count` chunks of a weight at a feerate in satoshis per virtual byte. */
const chunks = (count: number, weight: number, rate: number) =>
  Array.from({ length: count }, () => ({ fee: (rate * weight) / 4, size: weight, count: 1 }));

describe('projection of the next block', () => {
  test('nextBlockFeerates returns the feerates at one half and at three quarters', () => {
    const all = [...chunks(10, 150_000, 50), ...chunks(10, 100_000, 20), ...chunks(10, 100_000, 3)];
    // 1.5 million at 50, 1 million at 20, 1 million at 3.
    expect(nextBlockFeerates(all)).toEqual({ half: 20_000, threeQuarters: 3000 });
    expect(nextBlockFeerates(all.slice(0, 20))).toEqual({ half: 20_000, threeQuarters: null });
    expect(nextBlockFeerates([])).toEqual({ half: null, threeQuarters: null });
  });

  test('nextBlockFeerates compares whole virtual bytes, the unit in which fees are paid', () => {
    // 561 weight units are 141 virtual bytes: 1,000 satoshis are 7,092 per thousand, not 7,130.
    const all = Array.from({ length: 6000 }, () => ({ fee: 1000, size: 561, count: 1 }));
    expect(nextBlockFeerates(all)).toEqual({ half: 7092, threeQuarters: 7092 });
    // Half is reached with fewer of them, as they are rounded up: 3,547 of 564 units each.
    expect(nextBlockFeerates(all.slice(0, 3546)).half).toBeNull();
    expect(nextBlockFeerates(all.slice(0, 3547)).half).toBe(7092);
    // The first is better by weight, the second by virtual bytes, at 8,000 per thousand.
    const first = { fee: 4_000_003, size: 2_000_001 };
    const second = { fee: 3_980_000, size: 1_990_000 };
    expect(nextBlockFeerates([first, second])).toEqual({ half: 7999, threeQuarters: 7999 });
  });

  test('nextBlockFeerates ignores chunks beyond the next block', () => {
    const all = [...chunks(5, 400_000, 50), { fee: 10, size: 3_000_000, count: 1 }, ...chunks(10, 100_000, 3)];
    expect(nextBlockFeerates(all)).toEqual({ half: 50_000, threeQuarters: null });
  });

  test('the mempool is reliable while three quarters of recent blocks came from it', () => {
    const coverage = new MempoolCoverage();
    let height = 100;
    const block = (known: number, weight = 2_000_000) => {
      coverage.add({ height: height++, weight, knownWeight: weight * known });
      return coverage.problem() === null;
    };
    expect([1, 1, 1, 1, 1, 1].map((known) => block(known))).toEqual([false, false, false, false, false, true]);
    // Coverage is 92 of 100, 90 with an empty block, 80, 70.
    expect([block(0.5), block(0, 0), block(0.5), block(0.5)]).toEqual([true, true, true, false]);
    // 70, 70, and 80 again when the first of the bad blocks leaves the window.
    expect([block(1), block(1), block(1)]).toEqual([false, false, true]);
    // One block is replaced, then two are.
    height -= 1;
    expect(block(1)).toBe(true);
    height -= 2;
    expect([block(1), block(1)]).toEqual([false, true]);
    // Blocks that were not seen.
    height += 3;
    expect([1, 1, 1, 1, 1, 1].map((known) => block(known))).toEqual([false, false, false, false, false, true]);
    // Three quarters are enough, less is not.
    for (let i = 0; i < 6; i++) block(0.75);
    expect(block(0.75)).toBe(true);
    expect(block(0.7499)).toBe(false);
    for (let i = 0; i < 6; i++) block(1);
    // Blocks seen before a restart count.
    const again = new MempoolCoverage(coverage.blocks);
    expect(again.problem()).toBeNull();
    again.add({ height, weight: 2_000_000, knownWeight: 0 });
    expect(again.blocks).toHaveLength(6);
    expect(coverage.blocks.at(-1)!.height).toBe(height - 1);
  });

  test('MempoolCoverage compares the weight of blocks with that of known transactions', () => {
    const coverage = new MempoolCoverage();
    const add = (height: number, weight: number, knownWeight: number) => coverage.add({ height, weight, knownWeight });
    for (let height = 1; height <= 5; height++) add(height, 1_000_000, 1_000_000);
    expect(coverage.problem()).toBe('Not enough recent block data for fee rate estimation');
    add(6, 1_000_000, 1_000_000);
    expect(coverage.problem()).toBeNull();
    for (let height = 7; height <= 9; height++) add(height, 1_000_000, 100_000);
    expect(coverage.problem()).toBe('Mempool is unreliable for fee rate estimation');
    // A gap restarts the window, and a reorganization drops the disconnected blocks.
    add(8, 1_000_000, 1_000_000);
    expect(coverage.blocks.map(({ height }) => height)).toEqual([3, 4, 5, 6, 7, 8].slice(-coverage.blocks.length));
    add(20, 1, 1);
    expect(coverage.blocks).toHaveLength(1);
    // Nearly empty blocks do not count against the mempool.
    for (let height = 21; height <= 26; height++) add(height, 1000, 0);
    expect(coverage.problem()).toBeNull();
  });
});

describe('projectBlocks', () => {
  test('projectBlocks assigns each chunk once, best first, to at most eight blocks', () => {
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
