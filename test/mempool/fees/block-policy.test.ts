import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BlockPolicyEstimator } from '../../../src/mempool/fees/block-policy.ts';

const BASE = 2000;
const DELTA = 100;

/**
 * Blocks of transactions with ten feerates, as in Core's own scenario: better ones are mined at once, worse ones later.
 */
class Scenario {
  readonly estimator = new BlockPolicyEstimator();
  height = 0;
  #slot = 0;
  /** Waiting transactions by rank of feerate. */
  readonly waiting: { slot: number; feerate: number }[][] = Array.from({ length: 10 }, () => []);

  /** Adds four transactions of each feerate. */
  arrive(ranks = 10): void {
    for (let rank = 0; rank < ranks; rank++)
      for (let i = 0; i < 4; i++) {
        const tx = { slot: this.#slot++, feerate: BASE * (rank + 1) };
        this.estimator.addTransaction(tx.slot, { height: this.height, feerate: tx.feerate, countable: true });
        this.waiting[rank]!.push(tx);
      }
  }

  /** Mines a block with all waiting transactions of some ranks. */
  mine(takes: (rank: number) => boolean): void {
    const included = this.waiting.flatMap((txs, rank) => (takes(rank) ? txs.splice(0) : []));
    this.estimator.processBlock(++this.height, included);
  }

  feerate(target: number, conservative = false): number | null {
    return this.estimator.estimate(target, conservative).feerate;
  }
}

/** Every block includes the best feerate, every second the two best, and so on: a rank waits ten blocks at most. */
function steady(blocks: number): Scenario {
  const scenario = new Scenario();
  scenario.mine(() => false);
  for (let i = 0; i < blocks; i++) {
    scenario.arrive();
    scenario.mine((rank) => (scenario.height + 1) % (10 - rank) === 0);
  }
  return scenario;
}

describe('BlockPolicyEstimator', () => {
  test('a new estimator has no estimates', () => {
    const { estimator } = new Scenario();
    for (const target of [1, 2, 6, 144, 1008])
      expect(estimator.estimate(target, false)).toEqual({ feerate: null, blocks: 0 });
    expect(estimator.estimate(1009, false)).toEqual({ feerate: null, blocks: 1009 });
    expect(estimator.rawEstimate(13, 0.9, 'short')).toBeNull();
    expect(['short', 'medium', 'long'].map((name) => estimator.maxTarget(name as 'short'))).toEqual([12, 48, 1008]);
  });

  test('longer targets have lower estimates', () => {
    const scenario = steady(200);
    const estimates = [1, 2, 3, 4, 6, 9, 12, 20].map((target) => scenario.feerate(target)!);
    expect(estimates).toEqual(estimates.toSorted((a, b) => b - a));
    // Only the best rank is in every next block; its range ends above what each rank pays.
    expect(Math.abs(estimates[1]! - BASE * 10)).toBeLessThan(BASE + DELTA);
    expect(estimates.at(-1)!).toBeLessThan(BASE * 3);
    for (const target of [2, 6, 12])
      expect(scenario.feerate(target, true)!).toBeGreaterThanOrEqual(scenario.feerate(target)!);
    // A target of one block is answered like a target of two.
    expect(scenario.estimator.estimate(1, false)).toEqual(scenario.estimator.estimate(2, false));
  });

  test('empty blocks only decay the statistics', () => {
    const scenario = steady(200);
    // No transaction is left that could fail.
    scenario.mine(() => true);
    const before = [2, 6, 12].map((target) => scenario.feerate(target)!);
    for (let i = 0; i < 50; i++) scenario.mine(() => false);
    const after = [2, 6, 12].map((target) => scenario.feerate(target)!);
    for (const [i, feerate] of after.entries())
      expect(Math.abs(feerate - before[i]!)).toBeLessThanOrEqual(BASE + DELTA);
  });

  test('estimates rise when transactions with a formerly sufficient feerate stay unconfirmed', () => {
    const scenario = steady(200);
    const before = scenario.feerate(6)!;
    for (let i = 0; i < 15; i++) {
      scenario.arrive();
      scenario.mine(() => false);
    }
    expect(scenario.feerate(6) ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(before);
  });

  test('estimates fall when everything is mined at once', () => {
    const scenario = steady(100);
    const before = scenario.feerate(3)!;
    for (let i = 0; i < 265; i++) {
      scenario.arrive();
      scenario.mine(() => true);
    }
    expect(scenario.feerate(3)!).toBeLessThan(before - DELTA);
    expect(scenario.feerate(3)!).toBe(BASE);
  });

  test('transactions with parents, at another tip, or in a block that is not the next are not counted', () => {
    const { estimator } = new Scenario();
    estimator.processBlock(100, []);
    estimator.addTransaction(1, { height: 100, feerate: 5000, countable: false });
    estimator.addTransaction(2, { height: 99, feerate: 5000, countable: true });
    estimator.addTransaction(3, { height: 100, feerate: 5000, countable: true });
    estimator.processBlock(99, [{ slot: 3, feerate: 5000 }]);
    for (let height = 101; height < 300; height++)
      estimator.processBlock(height, height === 101 ? [{ slot: 1, feerate: 5000 }] : []);
    expect(estimator.estimate(2, false).feerate).toBeNull();
  });

  test('a restored estimator gives the same estimates', () => {
    const scenario = steady(150);
    scenario.estimator.flushUnconfirmed();
    const restored = BlockPolicyEstimator.restore(scenario.estimator.serialize());
    for (const target of [1, 2, 3, 6, 12, 24, 48])
      for (const conservative of [false, true])
        expect(restored.estimate(target, conservative)).toEqual(scenario.estimator.estimate(target, conservative));
    expect(restored.serialize()).toEqual(scenario.estimator.serialize());
  });

  test('restore rejects any bytes that are not a history', () => {
    const good = steady(30).estimator.serialize();
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.uint8Array({ minLength: 1, maxLength: 8 }), (at, noise) => {
        const bytes = good.slice();
        bytes.set(noise.subarray(0, bytes.length - at), at);
        try {
          // The decoded bytes are a history that can be queried.
          const { feerate } = BlockPolicyEstimator.restore(bytes).estimate(6, false);
          return feerate === null || Number.isFinite(feerate);
        } catch (error) {
          return (error as Error).name === 'DecodeError';
        }
      }),
      { numRuns: 300 },
    );
    for (const length of [0, 3, good.length - 1])
      expect(() => BlockPolicyEstimator.restore(good.slice(0, length))).toThrow();
    expect(() => BlockPolicyEstimator.restore(new Uint8Array([...good, 0]))).toThrow('bytes after');
  });
});
