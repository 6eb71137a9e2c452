import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { runSteps } from '../../../src/util/slices.ts';
import { selectBranchAndBound } from '../../../src/wallet/coin-selection/branch-and-bound.ts';
import { changeTarget } from '../../../src/wallet/coin-selection/change-target.ts';
import { selectCoinGrinder } from '../../../src/wallet/coin-selection/coin-grinder.ts';
import { selectKnapsack } from '../../../src/wallet/coin-selection/knapsack.ts';
import {
  manualSelection,
  type SelectionOutcome,
  selectedEffectiveValue,
  selectedValue,
  selectionOf,
  withWaste,
} from '../../../src/wallet/coin-selection/selection.ts';
import { selectSingleRandomDraw } from '../../../src/wallet/coin-selection/single-random-draw.ts';
import {
  type CoinFeerates,
  type OutputGroup,
  outputGroup,
  priceCoins,
  type WalletCoin,
} from '../../../src/wallet/coin-selection/wallet-coin.ts';
import {
  CENT,
  COIN,
  effectiveGroup,
  feeFor,
  P2WPKH_VSIZE,
  repeat,
  seededRandom,
  valueGroup,
  walletCoin,
} from './coin-fixture.ts';

const branchAndBound = (...args: Parameters<typeof selectBranchAndBound>) => runSteps(selectBranchAndBound(...args));
const coinGrinder = (...args: Parameters<typeof selectCoinGrinder>) => runSteps(selectCoinGrinder(...args));
const randomDraw = (...args: Parameters<typeof selectSingleRandomDraw>) => runSteps(selectSingleRandomDraw(...args));
const priceCoin = (coin: WalletCoin, feerates: CoinFeerates) => runSteps(priceCoins([coin], feerates))[0]!;

const MAX_WEIGHT = 400_000;
const TOO_HEAVY =
  "The inputs size exceeds the maximum weight. Please try sending a smaller amount or manually consolidating your wallet's UTXOs";
const P2WPKH_OUTPUT_VSIZE = 31;
/** The feerates of Core's tests: none, the least, around minima and dust, usual, high, absurd. */
const FEERATES = [0n, 1n, 99n, 100n, 315n, 1000n, 2345n, 10_292n, 59_764n, 1_500_000n];

/** Costs of P2WPKH change that is discarded at 3 sat/vB. */
function changeCosts(feerate: bigint) {
  const changeFee = feeFor(feerate, P2WPKH_OUTPUT_VSIZE);
  return { changeFee, costOfChange: 204n + changeFee };
}

function amounts(outcome: SelectionOutcome, feerate: bigint): bigint[] {
  if (!outcome.ok) throw new Error(`no selection: ${outcome.error}`);
  return outcome.value.coins
    .map(({ output, inputVsize }) => output.value - feeFor(feerate, inputVsize))
    .sort((a, b) => (a < b ? -1 : 1));
}

describe('branch and bound', () => {
  for (const feerate of FEERATES)
    describe(`at ${feerate} sat/kvB`, () => {
      const { costOfChange } = changeCosts(feerate);
      const pool = (...values: bigint[]) => values.map((value) => effectiveGroup(value, feerate));
      const three = pool(CENT, 3n * CENT, 5n * CENT);
      const select = (groups: OutputGroup[], target: bigint, maxWeight = MAX_WEIGHT) =>
        branchAndBound(groups, target, costOfChange, maxWeight);
      const expectFound = (outcome: SelectionOutcome, values: bigint[], tries: number) => {
        expect(amounts(outcome, feerate)).toEqual(values);
        expect(outcome.ok && outcome.value.evaluated).toBe(tries);
      };

      test('branch and bound finds exact sums in as many tries as Core', () => {
        expectFound(select(three, CENT), [CENT], 3);
        expectFound(select(three, 3n * CENT), [3n * CENT], 3);
        expectFound(select(three, 5n * CENT), [5n * CENT], 2);
        expectFound(select(three, 4n * CENT), [CENT, 3n * CENT], 4);
        expectFound(select(three, 9n * CENT), [CENT, 3n * CENT, 5n * CENT], 5);
      });

      test('branch and bound exceeds the target by the cost of change at most', () => {
        expectFound(select(three, 4n * CENT - costOfChange), [CENT, 3n * CENT], 4);
        expect(select(three, 4n * CENT - costOfChange - 1n)).toEqual({ ok: false, error: '' });
      });

      test('branch and bound respects the weight limit', () => {
        expectFound(select(three, 4n * CENT, 4 * 2 * P2WPKH_VSIZE), [CENT, 3n * CENT], 4);
        expect(select(three, 4n * CENT, 4 * 2 * P2WPKH_VSIZE - 1)).toEqual({ ok: false, error: TOO_HEAVY });
      });

      test('branch and bound finds nothing in an empty pool', () => {
        expect(select([], CENT)).toEqual({ ok: false, error: '' });
        for (const target of [CENT / 2n, 7n * CENT, 10n * CENT])
          expect(select(three, target)).toEqual({ ok: false, error: '' });
      });

      test('branch and bound skips equal sets', () => {
        const clones = [
          ...pool(2n * CENT, 7n * CENT, 7n * CENT),
          ...repeat(5000, () => effectiveGroup(5n * CENT, feerate)),
        ];
        expectFound(select(clones, 16n * CENT), [2n * CENT, 7n * CENT, 7n * CENT], 16);
      });
    });

  test('branch and bound gives up after 100,000 tries', () => {
    const feerate = 5000n;
    const { costOfChange } = changeCosts(feerate);
    const near = (count: number) =>
      repeat(count, (i) => effectiveGroup(CENT + BigInt(i) + (i < 8 ? 0n : costOfChange), feerate));
    const select = (count: number) => branchAndBound(near(count), 8n * CENT, costOfChange, MAX_WEIGHT);
    const smallest = repeat(8, (i) => CENT + BigInt(i));
    for (const [count, tries] of [
      [17, 51_765],
      [18, 87_957],
    ] as const) {
      const outcome = select(count);
      expect(amounts(outcome, feerate)).toEqual(smallest);
      expect(outcome.ok && outcome.value.evaluated).toBe(tries);
    }
    expect(select(19).ok).toBe(false);

    const early = repeat(19, (i) => effectiveGroup(100_000n + BigInt(i), feerate));
    const outcome = branchAndBound(early, 800_000n, costOfChange, MAX_WEIGHT);
    expect(outcome.ok && outcome.value).toMatchObject({ completed: false, evaluated: 100_000 });
    expect(outcome.ok && outcome.value.coins.length).toBe(8);
  });

  test('branch and bound takes many inputs at low feerates and few at high ones', () => {
    const values = [2n, 3n, 5n, 10n].map((cents) => cents * CENT);
    const at = (feerate: bigint, heavy: boolean, target: bigint) =>
      branchAndBound(
        [
          ...values.map((value) => effectiveGroup(value, feerate)),
          ...(heavy ? [6n, 7n].map((cents) => effectiveGroup(cents * CENT, feerate, 500)) : []),
        ],
        target,
        changeCosts(feerate).costOfChange,
        MAX_WEIGHT,
      );
    expect(amounts(at(5000n, false, 10n * CENT), 5000n)).toEqual([2n * CENT, 3n * CENT, 5n * CENT]);
    expect(amounts(at(25_000n, false, 10n * CENT), 25_000n)).toEqual([10n * CENT]);
    expect(amounts(at(5000n, true, 13n * CENT), 5000n)).toEqual([6n * CENT, 7n * CENT]);
    expect(amounts(at(25_000n, true, 13n * CENT), 25_000n)).toEqual([3n * CENT, 10n * CENT]);
  });

  test('branch and bound finds the least waste of all sets of a small pool', () => {
    const feerate = fc.constantFrom(1000n, 30_000n);
    const values = fc.array(fc.bigInt(1n, 60n), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(feerate, values, fc.bigInt(1n, 200n), (rate, list, target) => {
        // While fees are low, a set that pays a little too much is not tried with more coins.
        const costOfChange = rate > 10_000n ? 5n : 0n;
        const groups = list.map((value) => effectiveGroup(value, rate));
        const outcome = branchAndBound(groups, target, costOfChange, MAX_WEIGHT);
        const least = leastWasteOf(groups, target, costOfChange);
        if (!outcome.ok) return least === null;
        const selected = outcome.value;
        const waste = selected.coins.reduce((sum, coin) => sum + coin.fee - coin.longTermFee, 0n);
        return waste + selectedEffectiveValue(selected) - target === least;
      }),
    );
  });
});

describe('a search in steps', () => {
  /** Tries of one step. */
  const STEP = 1000;

  /** Core's SelectCoinsBnB without steps, which skips equal amounts one by one. */
  function plainBranchAndBound(pool: readonly OutputGroup[], target: bigint, costOfChange: bigint, maxWeight: number) {
    const waste = ({ fee, longTermFee }: OutputGroup) => fee - longTermFee;
    const groups = pool.toSorted((a, b) => Number(b.amount - a.amount || waste(a) - waste(b)));
    let available = groups.reduce((sum, { amount }) => sum + amount, 0n);
    if (groups.length === 0 || available < target) return { best: null, tries: 0 };
    const isHigh = waste(groups[0]!) > 0n;
    const behind = groups.map(({ amount }) => (available -= amount));
    const selected: number[] = [];
    let [amount, weight, spent, best, bestWaste] = [0n, 0, 0n, null as bigint[] | null, 21n * 10n ** 14n];
    const drop = () => {
      const { amount: dropped, weight: lost, ...rest } = groups[selected.pop()!]!;
      amount -= dropped;
      weight -= lost;
      spent -= rest.fee - rest.longTermFee;
    };
    let next = 0;
    for (let tries = 1; ; tries++) {
      const group = groups[next]!;
      amount += group.amount;
      weight += group.weight;
      spent += waste(group);
      selected.push(next++);
      let [cut, shift] = [false, false];
      if (amount + behind[next - 1]! < target) cut = true;
      else if (weight > maxWeight || amount > target + costOfChange || (isHigh && spent > bestWaste)) shift = true;
      else if (amount >= target) {
        shift = true;
        if (spent + amount - target <= bestWaste) {
          best = selected.map((i) => groups[i]!.amount);
          bestWaste = spent + amount - target;
        }
      }
      if (tries >= 100_000) return { best, tries };
      if (next === groups.length) cut = true;
      if (cut) {
        drop();
        shift = true;
      }
      while (shift) {
        if (selected.length === 0) return { best, tries };
        next = selected.at(-1)! + 1;
        drop();
        shift = false;
        while (next < groups.length && groups[next - 1]!.amount === groups[next]!.amount) {
          if (next >= groups.length - 1) {
            shift = true;
            break;
          }
          next++;
        }
      }
    }
  }

  const cases = fc.record({
    feerate: fc.constantFrom(1000n, 30_000n),
    values: fc.array(fc.bigInt(1n, 1_000_000n), { minLength: 1, maxLength: 40, size: 'max' }),
    copies: fc.integer({ min: 1, max: 3 }),
    percent: fc.bigInt(1n, 100n),
    costOfChange: fc.bigInt(0n, 3n),
    inputs: fc.integer({ min: 1, max: 60 }),
  });

  const poolOf = ({ feerate, values, copies, percent }: typeof cases extends fc.Arbitrary<infer T> ? T : never) => ({
    groups: values.flatMap((value) => repeat(copies, () => effectiveGroup(value, feerate))),
    target: (values.reduce((sum, value) => sum + value, 0n) * BigInt(copies) * percent + 99n) / 100n,
  });

  test('branch and bound finds the same set in as many tries as without steps', () => {
    let long = 0;
    fc.assert(
      fc.property(cases, (given) => {
        const { groups, target } = poolOf(given);
        const { costOfChange, inputs } = given;
        const maxWeight = inputs * 4 * P2WPKH_VSIZE;
        const { best, tries } = plainBranchAndBound(groups, target, costOfChange, maxWeight);
        let steps = 0;
        const outcome = runSteps(selectBranchAndBound(groups, target, costOfChange, maxWeight), () => steps++);
        if (tries >= STEP) long++;
        expect(steps).toBeGreaterThanOrEqual(Math.floor(tries / STEP));
        expect(outcome.ok).toBe(best !== null);
        if (!outcome.ok) return;
        expect(outcome.value.evaluated).toBe(tries);
        expect(outcome.value.coins.map(({ effectiveValue }) => effectiveValue)).toEqual(best!);
      }),
      { numRuns: 60 },
    );
    // Otherwise the property would say nothing about the steps.
    expect(long).toBeGreaterThan(10);
  });

  test('searches that run in turns find what each finds alone', () => {
    fc.assert(
      fc.property(cases, cases, (one, other) => {
        const searches = [one, other].flatMap((given) => {
          const { groups, target } = poolOf(given);
          const { costOfChange, inputs } = given;
          const maxWeight = inputs * 4 * P2WPKH_VSIZE;
          return [
            () => selectBranchAndBound(groups, target, costOfChange, maxWeight),
            () => selectCoinGrinder(groups, target, costOfChange, maxWeight),
            () => selectSingleRandomDraw(groups, target, costOfChange, seededRandom(7), maxWeight),
            () => selectKnapsack(groups, target, costOfChange, seededRandom(8), maxWeight),
          ];
        });
        const alone = searches.map((search) => runSteps(search()));
        const running = new Map(searches.map((search, i) => [i, search()]));
        const found: SelectionOutcome[] = [];
        while (running.size > 0)
          for (const [i, steps] of running) {
            const { done, value } = steps.next();
            if (!done) continue;
            found[i] = value;
            running.delete(i);
          }
        expect(found).toEqual(alone);
      }),
      { numRuns: 20 },
    );
  });
});

/** Tries every set. */
function leastWasteOf(groups: readonly OutputGroup[], target: bigint, costOfChange: bigint): bigint | null {
  let least: bigint | null = null;
  for (let set = 1; set < 1 << groups.length; set++) {
    const chosen = groups.filter((_, i) => set & (1 << i));
    const amount = chosen.reduce((sum, group) => sum + group.amount, 0n);
    if (amount < target || amount > target + costOfChange) continue;
    const waste = chosen.reduce((sum, { fee, longTermFee }) => sum + fee - longTermFee, amount - target);
    if (least === null || waste < least) least = waste;
  }
  return least;
}

describe('CoinGrinder', () => {
  const group = (value: bigint, vsize = P2WPKH_VSIZE) => valueGroup(value, 5000n, vsize, 2000n);
  const values = (outcome: SelectionOutcome) =>
    outcome.ok ? outcome.value.coins.map(({ output }) => output.value).sort((a, b) => (a < b ? -1 : 1)) : null;
  const select = (groups: OutputGroup[], target: bigint, maxWeight: number) =>
    coinGrinder(groups, target, CENT, maxWeight);

  test('CoinGrinder finds nothing with too little money or too much weight', () => {
    const pool = repeat(10, () => [group(COIN), group(2n * COIN)]).flat();
    expect(select(pool, (495n * COIN) / 10n, 10_000)).toEqual({ ok: false, error: '' });
    expect(select(pool, (295n * COIN) / 10n, 3000)).toEqual({ ok: false, error: TOO_HEAVY });
  });

  test('CoinGrinder finds the lightest set in as many tries as Core', () => {
    const cases: [OutputGroup[], bigint, number, bigint[], number][] = [
      [
        [...repeat(60, () => group((33n * COIN) / 100n)), ...repeat(10, () => group(2n * COIN))],
        (2533n * COIN) / 100n,
        10_000,
        [...repeat(17, () => (33n * COIN) / 100n), ...repeat(10, () => 2n * COIN)],
        37,
      ],
      [[group(2n * COIN, 148), group(COIN), group(COIN)], (19n * COIN) / 10n, 400_000, [COIN, COIN], 3],
      [
        repeat(5, (j) => [
          group(BigInt(3 + 3 * j) * COIN, 350),
          group(BigInt(2 + 3 * j) * COIN, 250),
          group(BigInt(1 + 3 * j) * COIN, 150),
        ]).flat(),
        30n * COIN,
        400_000,
        [4n * COIN, 13n * COIN, 14n * COIN],
        92,
      ],
      [
        [
          ...[4n, 3n, 2n, 1n].map((coins) => group(coins * COIN, 100)),
          ...repeat(100, () => group(8n * COIN, 1000)),
          ...repeat(100, () => group(7n * COIN, 800)),
          ...repeat(100, () => group(6n * COIN, 600)),
          ...repeat(100, () => group(5n * COIN, 400)),
        ],
        (99n * COIN) / 10n,
        400_000,
        [COIN, 2n * COIN, 3n * COIN, 4n * COIN],
        38,
      ],
      [
        [
          group((18n * COIN) / 10n, 2500),
          group(COIN, 1000),
          group(COIN, 1000),
          ...repeat(100, (i) => group(COIN / 100n + BigInt(i), 110)),
        ],
        (19n * COIN) / 10n,
        40_000,
        [COIN, COIN],
        7,
      ],
    ];
    for (const [pool, target, maxWeight, expected, tries] of cases) {
      const outcome = select(pool, target, maxWeight);
      expect(values(outcome)).toEqual(expected);
      expect(outcome.ok && outcome.value.evaluated).toBe(tries);
    }
  });

  test('CoinGrinder gives up after 100,000 tries', () => {
    const pool = (count: number) => repeat(count, (i) => valueGroup(COIN + BigInt(i), 0n, 96 + i, 2000n));
    const outcome = coinGrinder(pool(18), 8n * COIN, 0n, 3200);
    expect(values(outcome)).toEqual(repeat(8, (i) => COIN + BigInt(i)));
    expect(outcome.ok && outcome.value.evaluated).toBe(87_525);
    expect(coinGrinder(pool(19), 8n * COIN, 0n, 3200).ok).toBe(false);
  });
});

describe('single random draw', () => {
  for (const feerate of FEERATES)
    test(`single random draw pays target and change at ${feerate} sat/kvB`, () => {
      const { changeFee } = changeCosts(feerate);
      const random = seededRandom(Number(feerate));
      const pool = [1n, 3n, 5n].map((cents) => effectiveGroup(cents * CENT, feerate));
      const least = 50_000n + changeFee;
      const select = (groups: OutputGroup[], target: bigint, maxWeight = MAX_WEIGHT) =>
        randomDraw(groups, target, changeFee, random, maxWeight);
      const expectPaid = (groups: OutputGroup[], target: bigint, maxWeight = MAX_WEIGHT) => {
        const outcome = select(groups, target, maxWeight);
        if (!outcome.ok) throw new Error(`no selection: ${outcome.error}`);
        expect(selectedEffectiveValue(outcome.value)).toBeGreaterThanOrEqual(target + least);
        expect(outcome.value.weight).toBeLessThanOrEqual(maxWeight);
      };
      for (const target of [21_000n, CENT, 3_125_000n, 4n * CENT, 7n * CENT, 9n * CENT - least])
        expectPaid(pool, target);
      expect(select([], CENT)).toEqual({ ok: false, error: '' });
      for (const target of [9n * CENT - least + 1n, 9n * CENT, 9n * CENT + 1n])
        expect(select(pool, target)).toEqual({ ok: false, error: '' });
      const many = [
        ...pool,
        ...repeat(100, () => effectiveGroup(5n * CENT, feerate)),
        ...repeat(3, () => effectiveGroup(7n * CENT, feerate)),
      ];
      expectPaid(many, 20n * CENT, 4 * 4 * (P2WPKH_VSIZE - 1));
      expect(select(many, 25n * CENT, 4 * 3 * P2WPKH_VSIZE)).toEqual({ ok: false, error: TOO_HEAVY });
      expectPaid(many, 9n * CENT, 4 * 3 * (P2WPKH_VSIZE - 1));
    });
});

describe('knapsack', () => {
  const pool = (...cents: number[]) => cents.map((cent) => valueGroup(BigInt(cent) * CENT, 0n));
  const centsOf = (groups: OutputGroup[], target: number, seed: number): number[] | null => {
    const outcome = runSteps(selectKnapsack(groups, BigInt(target) * CENT, CENT, seededRandom(seed), MAX_WEIGHT));
    if (!outcome.ok) return null;
    return outcome.value.coins.map(({ output }) => Number(output.value / CENT)).sort((a, b) => a - b);
  };

  test('knapsack selects as Core does, whatever the order', () => {
    for (let seed = 0; seed < 20; seed++) {
      const check = (cents: number[], target: number, expected: number[] | null) =>
        expect(centsOf(pool(...cents), target, seed)).toEqual(expected);
      check([], 1, null);
      check([1, 2], 3, [1, 2]);
      const mixed = [1, 2, 5, 10, 20];
      check(mixed, 38, [1, 2, 5, 10, 20]);
      check(mixed, 34, [5, 10, 20]);
      check(mixed, 7, [2, 5]);
      check(mixed, 8, [1, 2, 5]);
      check(mixed, 9, [10]);
      check([6, 7, 8, 20, 30], 71, [6, 7, 8, 20, 30]);
      check([6, 7, 8, 20, 30], 72, null);
      check([6, 7, 8, 20, 30], 16, [20]);
      check([5, 6, 7, 8, 20, 30], 16, [5, 6, 7]);
      check([5, 6, 7, 8, 18, 20, 30], 16, [18]);
      check([5, 6, 7, 8, 18, 20, 30], 11, [5, 6]);
      const large = [5, 6, 7, 8, 18, 20, 30, 100, 200, 300, 400];
      check(large, 95, [100]);
      check(large, 195, [200]);
    }
  });

  test('knapsack avoids small change', () => {
    const tenths = [1n, 2n, 3n, 4n, 5n, 1111n].map((tenth) => valueGroup((tenth * CENT) / 10n, 0n));
    for (let seed = 0; seed < 20; seed++) {
      // 0.1 + 0.2 + 0.3 + 0.4 make it exactly.
      const exact = runSteps(selectKnapsack(tenths, CENT, CENT, seededRandom(seed), MAX_WEIGHT));
      expect(exact.ok && selectedValue(exact.value)).toBe(CENT);
    }
  });

  test('knapsack selects a single larger coin if all others are too heavy, or reports the weight', () => {
    const light = repeat(5, () => valueGroup(CENT, 0n));
    const limit = 2 * 4 * P2WPKH_VSIZE;
    const target = 5n * CENT;
    const random = seededRandom(1);
    expect(runSteps(selectKnapsack(light, target, CENT, random, limit))).toEqual({ ok: false, error: TOO_HEAVY });
    const outcome = runSteps(selectKnapsack([...light, valueGroup(10n * CENT, 0n)], target, CENT, random, limit));
    expect(outcome.ok && selectedValue(outcome.value)).toBe(10n * CENT);
  });
});

describe('knapsack of many', () => {
  const smallest = (values: readonly number[], target: number) => {
    let best = Number.POSITIVE_INFINITY;
    for (let set = 0; set < 1 << values.length; set++) {
      let sum = 0;
      for (let i = 0; i < values.length; i++) if (set & (1 << i)) sum += values[i]!;
      if (sum >= target && sum < best) best = sum;
    }
    return best;
  };

  test('knapsack of many coins comes as close to the target as possible', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 2, maxLength: 9 }),
        fc.integer({ min: 1, max: 100 }),
        fc.integer(),
        (values, percent, seed) => {
          const total = values.reduce((sum, value) => sum + value, 0);
          const target = Math.max(1, Math.floor((total * percent) / 100));
          const groups = values.map((value) => valueGroup(BigInt(value), 0n));
          // With change of one satoshi, each value counts.
          const outcome = runSteps(selectKnapsack(groups, BigInt(target), 1n, seededRandom(seed), MAX_WEIGHT));
          const best = smallest(values, target);
          expect(outcome.ok && Number(selectedValue(outcome.value))).toBe(best);
        },
      ),
    );
  });

  test('knapsack respects the weight limit with any number of coins', () => {
    const groups = repeat(2000, (i) => valueGroup(BigInt(1000 + ((i * 7919) % 5000)), 0n));
    for (const [target, inputs] of [
      [5000n, 3],
      [100_000n, 40],
      [1_000_000n, 400],
    ] as const) {
      const limit = inputs * 4 * P2WPKH_VSIZE;
      const outcome = runSteps(selectKnapsack(groups, target, 1n, seededRandom(7), limit));
      if (!outcome.ok) throw new Error(outcome.error);
      expect(outcome.value.weight).toBeLessThanOrEqual(limit);
      expect(selectedValue(outcome.value)).toBeGreaterThanOrEqual(target);
    }
  });
});

describe('waste', () => {
  const costs = { minViableChange: 300n, costOfChange: 125n, changeFee: 30n };
  const coin = (value: bigint, fee: bigint, longTermFee: bigint, bumpFee = 0n) => ({
    ...priceCoin(walletCoin(value), { effective: 0n, longTerm: 0n }),
    fee: fee + bumpFee,
    longTermFee,
    bumpFee,
    effectiveValue: value - fee - bumpFee,
  });
  const waste = (
    target: bigint,
    fee: bigint,
    longTermFee: bigint,
    discount = 0n,
    bumps: [bigint, bigint] = [0n, 0n],
  ) => {
    const coins = [coin(COIN, fee, longTermFee, bumps[0]), coin(2n * COIN, fee, longTermFee, bumps[1])];
    return withWaste({ ...manualSelection(target, coins, false), bumpFeeDiscount: discount }, costs).waste;
  };
  const exact = 3n * COIN - 200n;

  test('waste with change is the cost of change and the difference of fees', () => {
    expect(waste(2n * COIN, 100n, 60n)).toBe(80n + 125n);
    expect(waste(2n * COIN, 100n, 140n)).toBe(-80n + 125n);
    expect(waste(2n * COIN, 100n, 100n)).toBe(125n);
    expect(waste(2n * COIN, 100n, 190n)).toBe(-55n);
  });

  test('waste without change is the excess and the difference of fees', () => {
    expect(waste(exact - 80n, 100n, 60n)).toBe(80n + 80n);
    expect(waste(exact - 80n, 100n, 140n)).toBe(0n);
    expect(waste(exact, 100n, 140n)).toBe(-80n);
    expect(waste(exact, 100n, 100n)).toBe(0n);
  });

  test('waste includes bump fees, with those of shared ancestors once', () => {
    expect(waste(2n * COIN, 100n, 140n, 0n, [20n, 40n])).toBe(-80n + 125n + 60n);
    expect(waste(2n * COIN, 100n, 140n, 30n, [20n, 40n])).toBe(-80n + 125n + 30n);
    const changeless = 3n * COIN - 200n - 100n;
    expect(waste(changeless, 100n, 140n, 0n, [20n, 40n])).toBe(-80n + 60n + 40n);
    expect(waste(changeless, 100n, 140n, 30n, [20n, 40n])).toBe(-80n + 30n + 70n);
  });

  test('no coin is spent twice', () => {
    const group = valueGroup(CENT, 0n);
    expect(() => selectionOf('knapsack', CENT, [group, group])).toThrow('no coin is selected twice');
  });
});

test('the effective value of a coin is its value less its fee, or its value where the size is unknown', () => {
  const priced = (feerate: bigint, size = sized) =>
    priceCoin(walletCoin(10_000n, { size }), { effective: feerate, longTerm: 0n }).effectiveValue;
  const sized = { satisfactionWeight: 428, witnessElements: 0, segwit: false } as const;
  expect(priced(10_000n)).toBe(10_000n - 1490n);
  expect(priced(0n)).toBe(10_000n);
  expect(priceCoin(walletCoin(10_000n, { size: null }), { effective: 10_000n, longTerm: 0n }).effectiveValue).toBe(
    10_000n,
  );
});

test('the change target is random between 50,000 and twice the payment or a million', () => {
  const [lowest, highest] = [() => 0, (limit: number) => limit - 1];
  expect(changeTarget(25_000n, 100n, highest)).toBe(50_100n);
  expect(changeTarget(40_000n, 100n, lowest)).toBe(50_100n);
  expect(changeTarget(40_000n, 100n, highest)).toBe(80_099n);
  expect(changeTarget(COIN, 100n, highest)).toBe(1_000_099n);
});

test('a group has the depth of its youngest coin, and is trusted only as a whole', () => {
  const price = (value: bigint, depth: number, fromMe: boolean) => ({
    coin: priceCoin(walletCoin(value, { depth, fromMe }), { effective: 1000n, longTerm: 1000n }),
    ancestors: 2,
    clusterCount: depth,
  });
  const group = outputGroup([price(1000n, 3, true), price(2000n, 7, false)], true);
  expect(group).toMatchObject({
    depth: 3,
    fromMe: false,
    ancestors: 4,
    clusterCount: 7,
    amount: 3000n,
    weight: 2 * 272,
  });
});
