import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import type { Amount } from '../../primitives/amount.ts';
import { outpointKey } from '../../primitives/outpoint.ts';
import { assert } from '../../util/assert.ts';
import type { Result } from '../../util/result.ts';
import type { OutputGroup, PricedCoin } from './wallet-coin.ts';

export type SelectionAlgorithm = 'bnb' | 'knapsack' | 'srd' | 'cg' | 'manual';

/** Coins chosen to pay `target`. */
export interface Selection {
  readonly algorithm: SelectionAlgorithm;
  /** Amount to pay, satoshis: the recipients, and the fees of everything but the inputs. */
  readonly target: Amount;
  readonly coins: readonly PricedCoin[];
  readonly weight: number;
  /** Whether effective values count, as the fee is not the recipients'. */
  readonly useEffective: boolean;
  /** Bump fees that are counted twice because coins share ancestors. */
  readonly bumpFeeDiscount: Amount;
  readonly waste: Amount;
  /** False if the search reached its limit before it had evaluated every set. */
  readonly completed: boolean;
  /** Number of coin sets that were evaluated. */
  readonly evaluated: number;
}

/** An empty error means that there is no solution. */
export type SelectionOutcome = Result<Selection, { readonly error: string }>;

export const NO_SELECTION: SelectionOutcome = { ok: false, error: '' };

export const MAX_WEIGHT_EXCEEDED: SelectionOutcome = {
  ok: false,
  error:
    "The inputs size exceeds the maximum weight. Please try sending a smaller amount or manually consolidating your wallet's UTXOs",
};

/** Returns a selection of whole groups, with its waste not computed. */
export function selectionOf(
  algorithm: SelectionAlgorithm,
  target: Amount,
  groups: readonly OutputGroup[],
  search: { readonly completed?: boolean; readonly evaluated?: number } = {},
): Selection {
  const coins = groups.flatMap((group) => group.coins);
  assertDistinct(coins);
  return {
    algorithm,
    target,
    coins,
    weight: groups.reduce((sum, { weight }) => sum + weight, 0),
    useEffective: !groups.at(-1)?.subtractFeeOutputs,
    bumpFeeDiscount: 0n,
    waste: 0n,
    completed: search.completed ?? true,
    evaluated: search.evaluated ?? 0,
  };
}

/** Returns a selection of coins that the user named. */
export function manualSelection(target: Amount, coins: readonly PricedCoin[], subtractFeeOutputs: boolean): Selection {
  assertDistinct(coins);
  const weight = coins.reduce((sum, { inputVsize }) => sum + Math.max(inputVsize, 0) * WITNESS_SCALE_FACTOR, 0);
  return { ...selectionOf('manual', target, []), coins, weight, useEffective: !subtractFeeOutputs };
}

export function mergeSelections(a: Selection, b: Selection): Selection {
  const coins = [...a.coins, ...b.coins];
  assertDistinct(coins);
  return {
    ...a,
    algorithm: a.algorithm === 'manual' ? b.algorithm : a.algorithm,
    target: a.target + b.target,
    coins,
    weight: a.weight + b.weight,
    useEffective: a.useEffective || b.useEffective,
  };
}

function assertDistinct(coins: readonly PricedCoin[]): void {
  const keys = new Set(coins.map(({ outpoint }) => outpointKey(outpoint)));
  assert(keys.size === coins.length, 'no coin is selected twice');
}

export function selectedValue({ coins }: Selection): Amount {
  return coins.reduce((sum, { output }) => sum + output.value, 0n);
}

export function selectedEffectiveValue({ coins, bumpFeeDiscount }: Selection): Amount {
  return coins.reduce((sum, { effectiveValue }) => sum + effectiveValue, 0n) + bumpFeeDiscount;
}

/** Returns the fees that the transaction pays for its unconfirmed ancestors. */
export function totalBumpFees({ coins, bumpFeeDiscount }: Selection): Amount {
  return coins.reduce((sum, { bumpFee }) => sum + bumpFee, 0n) - bumpFeeDiscount;
}

/** Costs of change at the feerates of one transaction, satoshis. */
export interface ChangeCosts {
  /** Minimum amount of change. */
  readonly minViableChange: Amount;
  /** Fee for creating the output. */
  readonly changeFee: Amount;
  /** Fee for creating the output now and spending it later. */
  readonly costOfChange: Amount;
}

/** Returns the change after fees; 0 if it is below `minViableChange`. */
export function changeOf(selection: Selection, { minViableChange, changeFee }: ChangeCosts): Amount {
  const change = selection.useEffective
    ? selectedEffectiveValue(selection) - selection.target - changeFee
    : selectedValue(selection) - selection.target;
  return change < minViableChange ? 0n : change;
}

/**
 * Returns the selection with its waste: the cost of spending these coins now instead of at the long-term feerate, plus
 * the cost of change or, without change, the excess.
 */
export function withWaste(selection: Selection, costs: ChangeCosts): Selection {
  assert(selection.coins.length > 0, 'a selection has coins');
  let waste = -selection.bumpFeeDiscount;
  for (const { fee, longTermFee } of selection.coins) waste += fee - longTermFee;
  if (changeOf(selection, costs) > 0n) waste += costs.costOfChange;
  else {
    const value = selection.useEffective ? selectedEffectiveValue(selection) : selectedValue(selection);
    assert(value >= selection.target, 'the target is covered');
    waste += value - selection.target;
  }
  return { ...selection, waste };
}

/** Returns the selection with the least waste; among equals the one that spends more coins, then the first. */
export function leastWaste(selections: readonly Selection[]): Selection | null {
  let best: Selection | null = null;
  for (const selection of selections) {
    if (best === null || selection.waste < best.waste) best = selection;
    else if (selection.waste === best.waste && selection.coins.length > best.coins.length) best = selection;
  }
  return best;
}
