import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BlockPolicyEstimator } from '../../../src/mempool/fees/block-policy.ts';

/** A transaction of 188 virtual bytes pays 2,000 satoshis, or up to ten times as much. */
const feerateOf = (rank: number) => Math.floor((2000 * (rank + 1) * 1000) / 188);
const BASE = feerateOf(0);
const DELTA = 100;

interface Tx {
  readonly slot: number;
  readonly feerate: number;
}

/** The steps of Core's own scenario: 665 blocks, with four transactions of each of ten feerates before most of them. */
class Scenario {
  readonly estimator = new BlockPolicyEstimator();
  height = 0;
  #slots = 0;
  #waiting: Tx[][] = Array.from({ length: 10 }, () => []);

  arrive(): void {
    for (const [rank, txs] of this.#waiting.entries())
      for (let i = 0; i < 4; i++) {
        const tx = { slot: this.#slots++, feerate: feerateOf(rank) };
        this.estimator.addTransaction(tx.slot, { height: this.height, feerate: tx.feerate, countable: true });
        txs.push(tx);
      }
  }

  /** The next block includes all waiting transactions of this number of best feerates. */
  mine(ranks: number): void {
    const included = ranks === 0 ? [] : this.#waiting.slice(-ranks).flatMap((txs) => txs.splice(0));
    this.estimator.processBlock(++this.height, included);
  }

  /**
   * Feerate at which 95 of 100 transactions are confirmed within the target by the last day's data; null for a target
   * of 1, which cannot be estimated.
   */
  fee(target: number): number | null {
    if (target <= 1) return null;
    const feerate = this.estimator.rawEstimate(target, 0.95, 'medium')!.feerate;
    return feerate === null ? null : Math.round(feerate);
  }
}

const TARGETS = [2, 3, 4, 5, 6, 7, 8, 9];

test('estimates follow the feerates that blocks include through empty, starved and generous times', () => {
  const scenario = new Scenario();
  while (scenario.height < 200) {
    scenario.arrive();
    scenario.mine((scenario.height % 10) + 1);
    // Three ranks are needed to have enough data by then; 97 of 100 of their transactions were confirmed within two
    // blocks.
    if (scenario.height === 3) expect(Math.abs(scenario.fee(2)! - 9 * BASE)).toBeLessThan(DELTA);
  }
  const original = new Map(TARGETS.map((target) => [target, scenario.fee(target)!]));
  for (const [target, feerate] of original) {
    if (target > 2) expect(feerate).toBeLessThanOrEqual(original.get(target - 1)!);
    // A period has two blocks, so only even targets have this resolution.
    if (target % 2 === 0) expect(Math.abs(feerate - (11 - target) * BASE)).toBeLessThan(DELTA);
  }

  // Without new transactions and confirmations the estimates stay the same.
  while (scenario.height < 250) scenario.mine(0);
  for (const [target, feerate] of original) expect(Math.abs(scenario.fee(target)! - feerate)).toBeLessThan(DELTA);

  // Many transactions arrive and none is mined.
  while (scenario.height < 265) {
    scenario.arrive();
    scenario.mine(0);
  }
  const notBelow = () => {
    for (const [target, feerate] of original)
      expect(scenario.fee(target) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(feerate - DELTA);
  };
  notBelow();
  scenario.mine(10);
  notBelow();

  while (scenario.height < 665) {
    scenario.arrive();
    scenario.mine(10);
  }
  // At 9 it was already the lowest.
  for (const target of TARGETS.slice(0, -1)) expect(scenario.fee(target)!).toBeLessThan(original.get(target)! - DELTA);
});

/** One transaction per block of one feerate, each mined at once, from a height on. */
function simple(blocks: number, { from = 1, feerate = 5000 } = {}): BlockPolicyEstimator {
  const estimator = new BlockPolicyEstimator();
  estimator.processBlock(from, []);
  for (let height = from; height < from + blocks; height++) {
    estimator.addTransaction(0, { height, feerate, countable: true });
    estimator.processBlock(height + 1, [{ slot: 0, feerate }]);
  }
  return estimator;
}

describe('statistics', () => {
  const short = (estimator: BlockPolicyEstimator) => estimator.rawEstimate(2, 0.5, 'short')!;

  test('statistics decay with the factor of their horizon', () => {
    const decays = { short: 0.962, medium: 0.9952, long: 0.99931 } as const;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), (empty) => {
        for (const [name, decay] of Object.entries(decays) as ['short' | 'medium' | 'long', number][]) {
          const estimator = simple(400);
          const confirmed = () => {
            const { pass, fail } = estimator.rawEstimate(24 > estimator.maxTarget(name) ? 12 : 24, 0.5, name)!;
            return (pass?.totalConfirmed ?? 0) + (fail?.totalConfirmed ?? 0);
          };
          const before = confirmed();
          // A geometric series: one transaction per block, each weighted by the decay of the blocks since.
          expect(before).toBeCloseTo((1 - decay ** 400) / (1 - decay), 6);
          for (let i = 0; i < empty; i++) estimator.processBlock(402 + i, []);
          expect(confirmed()).toBeCloseTo(before * decay ** empty, 6);
        }
      }),
      { numRuns: 10 },
    );
  });

  test('an estimate is reported with the range it comes from', () => {
    const { feerate, pass, fail } = short(simple(100));
    expect(feerate).toBeCloseTo(5000, 6);
    // From the bound below 5,000, of the bounds that begin with 100 and rise by 5 %; there was nothing above it.
    expect(pass!.start).toBeCloseTo(100 * 1.05 ** 80, 6);
    expect(pass!.end).toBe(1e99);
    expect(pass!.withinTarget).toBeCloseTo(pass!.totalConfirmed, 9);
    expect([pass!.inMempool, pass!.leftMempool]).toEqual([0, 0]);
    // There was no data below it.
    expect(fail).toEqual({
      start: 0,
      end: pass!.start,
      withinTarget: 0,
      totalConfirmed: 0,
      inMempool: 0,
      leftMempool: 0,
    });
  });

  test('waiting transactions, and those that left after waiting, count against a feerate', () => {
    for (const end of ['waits', 'leaves'] as const) {
      const estimator = simple(100);
      for (let slot = 1; slot <= 30; slot++)
        estimator.addTransaction(slot, { height: 101, feerate: 5000, countable: true });
      for (let height = 102; height <= 104; height++) estimator.processBlock(height, []);
      if (end === 'leaves') for (let slot = 1; slot <= 30; slot++) estimator.removeTransaction(slot);
      const { feerate, fail } = short(estimator);
      expect(feerate).toBeNull();
      expect([fail!.inMempool, fail!.leftMempool]).toEqual(end === 'waits' ? [30, 0] : [0, 30]);
    }
  });

  test('transactions that left at once, or cannot be evaluated, do not count against a feerate', () => {
    const estimator = simple(100);
    for (let slot = 1; slot <= 30; slot++)
      estimator.addTransaction(slot, { height: 101, feerate: 5000, countable: slot > 10 });
    for (let slot = 11; slot <= 30; slot++) estimator.removeTransaction(slot);
    for (let height = 102; height <= 110; height++) estimator.processBlock(height, []);
    expect(short(estimator).pass).toMatchObject({ inMempool: 0, leftMempool: 0 });
  });

  test('a transaction that left counts against a feerate only for the whole periods it waited', () => {
    const estimator = simple(100);
    for (let slot = 1; slot <= 30; slot++)
      estimator.addTransaction(slot, { height: 101, feerate: 5000, countable: true });
    for (let height = 102; height <= 104; height++) estimator.processBlock(height, []);
    for (let slot = 1; slot <= 30; slot++) estimator.removeTransaction(slot);
    const left = (target: number, horizon: 'short' | 'medium' | 'long') => {
      const { pass, fail } = estimator.rawEstimate(target, 0.5, horizon)!;
      return Math.max(pass?.leftMempool ?? 0, fail?.leftMempool ?? 0);
    };
    // Three blocks: three periods of one block, one of two, none of 24.
    expect([left(1, 'short'), left(3, 'short'), left(4, 'short')]).toEqual([30, 30, 0]);
    expect([left(2, 'medium'), left(3, 'medium'), left(24, 'long')]).toEqual([30, 0, 0]);
  });

  test('transactions that entered at another tip are not counted', () => {
    for (const away of [-1, 1]) {
      const estimator = new BlockPolicyEstimator();
      estimator.processBlock(50, []);
      for (let height = 50; height < 150; height++) {
        estimator.addTransaction(0, { height: height + away, feerate: 5000, countable: true });
        estimator.processBlock(height + 1, [{ slot: 0, feerate: 5000 }]);
      }
      expect(short(estimator).pass).toBeNull();
      expect(estimator.estimate(2, false)).toEqual({ feerate: null, blocks: 0 });
    }
  });

  test('a conservative estimate also satisfies the longer horizons', () => {
    const estimator = new BlockPolicyEstimator();
    estimator.processBlock(1, []);
    const waiting: Tx[] = [];
    for (let height = 1; height < 460; height++) {
      for (const [slot, feerate] of [20_000, 2000].entries())
        estimator.addTransaction(height * 2 + slot, { height, feerate, countable: true });
      waiting.push({ slot: height * 2 + 1, feerate: 2000 });
      // Low feerates wait for thirty blocks, until recently everything is mined at once.
      const late = height >= 320 || height % 30 === 0 ? waiting.splice(0) : [];
      estimator.processBlock(height + 1, [{ slot: height * 2, feerate: 20_000 }, ...late]);
    }
    expect(estimator.estimate(2, false)).toEqual({ feerate: 2000, blocks: 2 });
    expect(estimator.estimate(2, true)).toEqual({ feerate: 20_000, blocks: 2 });
  });

  test('a transaction still unconfirmed at shutdown counts as failed', () => {
    const estimator = simple(100);
    for (let slot = 1; slot <= 30; slot++)
      estimator.addTransaction(slot, { height: 101, feerate: 5000, countable: true });
    for (let height = 102; height <= 105; height++) estimator.processBlock(height, []);
    const restored = BlockPolicyEstimator.restore(estimator.serialize());
    expect(short(restored).feerate).not.toBeNull();
    estimator.flushUnconfirmed();
    expect(short(BlockPolicyEstimator.restore(estimator.serialize())).fail!.leftMempool).toBe(30);
  });

  test('targets reach half of the recorded blocks, including those of the previous run for six weeks', () => {
    const estimator = simple(100);
    expect(estimator.estimate(1008, false).blocks).toBe(49);
    expect(estimator.estimate(20, false)).toEqual({ feerate: 5000, blocks: 20 });
    const restored = BlockPolicyEstimator.restore(estimator.serialize());
    expect(restored.estimate(1008, false).blocks).toBe(49);
    // After 6,048 blocks it is ignored.
    restored.processBlock(101 + 6048, []);
    expect(restored.estimate(1008, false).blocks).toBe(49);
    restored.processBlock(102 + 6048, []);
    expect(restored.estimate(1008, false)).toEqual({ feerate: null, blocks: 0 });
    // The range of the previous run is saved again while it is more than half of the current one.
    const third = BlockPolicyEstimator.restore(BlockPolicyEstimator.restore(estimator.serialize()).serialize());
    expect(third.estimate(1008, false).blocks).toBe(49);
  });

  test('estimates use whole feerate ranges, however low or high', () => {
    for (const feerate of [1, 100, 101, 9_999_999, 1e9]) {
      const estimator = simple(100, { feerate });
      expect(estimator.estimate(6, true)).toEqual({ feerate, blocks: 6 });
      expect(estimator.estimate(6, false)).toEqual({ feerate, blocks: 6 });
    }
  });
});
