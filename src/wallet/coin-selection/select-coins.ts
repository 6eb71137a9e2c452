import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { TRUC_CHILD_MAX_VSIZE, TRUC_VERSION } from '../../policy/truc.ts';
import type { Amount } from '../../primitives/amount.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import { type RandomBelow, shuffled } from '../../util/random.ts';
import type { Steps } from '../../util/slices.ts';
import { selectBranchAndBound } from './branch-and-bound.ts';
import { selectCoinGrinder } from './coin-grinder.ts';
import { selectKnapsack } from './knapsack.ts';
import {
  type AvailableCoin,
  type EligibleGroups,
  type GroupPool,
  groupOutputs,
  MAX_GROUP_COINS,
} from './output-groups.ts';
import {
  type ChangeCosts,
  leastWaste,
  manualSelection,
  mergeSelections,
  NO_SELECTION,
  type Selection,
  type SelectionOutcome,
  withWaste,
} from './selection.ts';
import { selectSingleRandomDraw } from './single-random-draw.ts';
import {
  type CoinFeerates,
  type EligibilityFilter,
  type PricedCoin,
  priceCoins,
  type WalletCoin,
} from './wallet-coin.ts';

/** Limits of a node for chains of unconfirmed transactions. */
export interface ChainLimits {
  readonly ancestors: number;
  readonly descendants: number;
}

export interface SelectionParams extends ChangeCosts {
  readonly feerates: CoinFeerates;
  /** Bytes of the change output. */
  readonly changeOutputSize: number;
  /** Change target, satoshis. */
  readonly minChangeTarget: Amount;
  /** Virtual bytes of everything but inputs and change. */
  readonly txNoInputsSize: number;
  readonly maxTxWeight: number;
  readonly txVersion: number;
  readonly subtractFeeOutputs: boolean;
  readonly avoidPartialSpends: boolean;
  readonly includeUnsafe: boolean;
  readonly spendZeroConfChange: boolean;
  readonly rejectLongChains: boolean;
  readonly limits: ChainLimits;
  readonly random: RandomBelow;
  /**
   * Returns the satoshis that bump the unconfirmed ancestors of all these coins together; null if there are too many
   * ancestors.
   */
  readonly combinedBumpFee: (outpoints: readonly Outpoint[]) => Amount | null;
}

/** Maximum weight of a version 3 transaction with an unconfirmed parent. */
export const TRUC_CHILD_MAX_WEIGHT = TRUC_CHILD_MAX_VSIZE * WITNESS_SCALE_FACTOR;
/** Factor of the long-term feerate above which CoinGrinder searches for the lightest inputs. */
const HIGH_FEERATE_FACTOR = 3n;

const failed = (error: string): SelectionOutcome => ({ ok: false, error });

/**
 * Returns coins that pay `target`: the preset ones, and available ones for the rest. An empty error means insufficient
 * funds.
 */
export function* selectCoins(
  available: readonly WalletCoin[],
  preset: readonly PricedCoin[],
  target: Amount,
  allowOtherInputs: boolean,
  params: SelectionParams,
): Steps<SelectionOutcome> {
  const { subtractFeeOutputs } = params;
  const appropriate = (coins: readonly PricedCoin[]) =>
    coins.reduce((sum, { output, effectiveValue }) => sum + (subtractFeeOutputs ? output.value : effectiveValue), 0n);
  const presetTotal = appropriate(preset);
  const missing = target - presetTotal;
  if (!allowOtherInputs && missing > 0n)
    return failed(
      'The preselected coins total amount does not cover the transaction target. Please allow other inputs to be automatically selected or include more coins manually',
    );
  if (missing <= 0n) return { ok: true, value: withWaste(manualSelection(target, preset, subtractFeeOutputs), params) };
  const priced = yield* priceCoins(available, params.feerates);
  yield;
  if (missing > appropriate(priced)) return NO_SELECTION;

  const coins = available.map((coin, i) => ({ coin, priced: priced[i]! }));
  yield;
  const chosen = yield* selectAutomatically(coins, missing, params);
  if (!chosen.ok || preset.length === 0) return chosen;
  const manual = manualSelection(presetTotal, preset, subtractFeeOutputs);
  const merged = withWaste(mergeSelections(chosen.value, manual), params);
  if (merged.weight > params.maxTxWeight - params.txNoInputsSize * WITNESS_SCALE_FACTOR)
    return failed(
      "The combination of the pre-selected inputs and the wallet automatic inputs selection exceeds the transaction maximum weight. Please try sending a smaller amount or manually consolidating your wallet's UTXOs",
    );
  return { ok: true, value: merged };
}

/** Returns the filters from strict to permissive. Only the first one never mixes coin types. */
function eligibilityFilters(params: SelectionParams): EligibilityFilter[] {
  const ancestors = Math.max(1, params.limits.ancestors);
  const descendants = Math.max(1, params.limits.descendants);
  const filter = (
    ownDepth: number,
    foreignDepth: number,
    maxAncestors: number,
    maxClusterCount = maxAncestors,
    includePartialGroups = false,
  ) => ({ ownDepth, foreignDepth, maxAncestors, maxClusterCount, includePartialGroups });
  const filters = [filter(1, 6, 0), filter(1, 1, 0)];
  if (!params.spendZeroConfChange) return filters;
  const part = (count: number, divisor: number) => Math.floor(count / divisor);
  filters.push(
    filter(0, 1, 2),
    filter(0, 1, Math.min(4, part(ancestors, 3)), Math.min(4, part(descendants, 3))),
    filter(0, 1, part(ancestors, 2), part(descendants, 2)),
    filter(0, 1, ancestors - 1, descendants - 1, true),
  );
  if (params.includeUnsafe) filters.push(filter(0, 0, ancestors - 1, descendants - 1, true));
  if (!params.rejectLongChains) filters.push(filter(0, 1, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, true));
  return filters;
}

function* selectAutomatically(
  available: readonly AvailableCoin[],
  target: Amount,
  params: SelectionParams,
): Steps<SelectionOutcome> {
  // An unshuffled choice of coins for a full group would reveal the wallet's order of coins.
  const shuffle = params.avoidPartialSpends && available.length > MAX_GROUP_COINS;
  const coins = shuffle ? shuffled(available, params.random) : available;
  const filters = eligibilityFilters(params);
  const { eligible, discarded } = yield* groupOutputs(coins, filters, params);
  yield;

  const ancestors = Math.max(1, params.limits.ancestors);
  const descendants = Math.max(1, params.limits.descendants);
  let left = coins.reduce((sum, { coin }) => sum + coin.output.value, 0n);
  let inLongChains = 0n;
  for (const group of discarded) {
    left -= group.amount;
    if (group.ancestors >= ancestors || group.clusterCount >= descendants) inLongChains += group.amount;
  }
  if (left < target) {
    if (left + inLongChains <= target) return NO_SELECTION;
    return failed(
      'Unconfirmed UTXOs are available, but spending them creates a chain of transactions that will be rejected by the mempool',
    );
  }

  let { maxTxWeight } = params;
  let firstError = '';
  for (const [i, filter] of filters.entries()) {
    yield;
    const groups = yield* eligible(filter);
    if (groups.all.mixed.length === 0 && groups.all.positive.length === 0) continue;
    const unconfirmed = filter.ownDepth === 0 || filter.foreignDepth === 0;
    if (params.txVersion === TRUC_VERSION && unconfirmed) maxTxWeight = Math.min(maxTxWeight, TRUC_CHILD_MAX_WEIGHT);
    const outcome = yield* attemptSelection(target, groups, { ...params, maxTxWeight }, i > 0);
    if (outcome.ok) return outcome;
    firstError ||= outcome.error;
  }
  return failed(firstError);
}

/** Selects coins of one type; if no type suffices, coins of all types. */
function* attemptSelection(
  target: Amount,
  groups: EligibleGroups,
  params: SelectionParams,
  allowMixedTypes: boolean,
): Steps<SelectionOutcome> {
  const found: Selection[] = [];
  for (const pool of groups.byType.values()) {
    const outcome = yield* chooseSelection(target, pool, params);
    if (outcome.ok) found.push(outcome.value);
    else if (outcome.error !== '') return outcome;
  }
  const best = leastWaste(found);
  if (best !== null) return { ok: true, value: best };
  return allowMixedTypes && groups.byType.size > 1 ? yield* chooseSelection(target, groups.all, params) : NO_SELECTION;
}

export const BUMP_FEES_UNKNOWN =
  'Failed to calculate bump fees, because unconfirmed UTXOs depend on an enormous cluster of unconfirmed transactions.';

/** Returns the selection with the least waste among those of all algorithms. */
function* chooseSelection(
  target: Amount,
  { positive, mixed }: GroupPool,
  params: SelectionParams,
): Steps<SelectionOutcome> {
  const { feerates, minChangeTarget, changeFee, random } = params;
  let maxWeight = params.maxTxWeight - params.txNoInputsSize * WITNESS_SCALE_FACTOR;
  if (maxWeight <= 0) return failed('Maximum transaction weight is less than transaction weight without inputs');
  const outcomes: SelectionOutcome[] = [];
  // Without change, recipients who pay the fee would receive more than requested.
  if (!params.subtractFeeOutputs)
    outcomes.push(yield* selectBranchAndBound(positive, target, params.costOfChange, maxWeight));
  yield;
  // The other algorithms may create change.
  maxWeight -= params.changeOutputSize * WITNESS_SCALE_FACTOR;
  if (maxWeight < 0 && !outcomes.some(({ ok }) => ok))
    return failed('Maximum transaction weight is too low, can not accommodate change output');
  outcomes.push(yield* selectKnapsack(mixed, target, minChangeTarget, random, maxWeight));
  yield;
  if (feerates.effective > HIGH_FEERATE_FACTOR * feerates.longTerm)
    outcomes.push(yield* selectCoinGrinder(positive, target, minChangeTarget, maxWeight));
  yield;
  outcomes.push(yield* selectSingleRandomDraw(positive, target, changeFee, random, maxWeight));

  const selections: Selection[] = [];
  let firstError = '';
  for (const outcome of outcomes) {
    if (outcome.ok) selections.push(outcome.value);
    else firstError ||= outcome.error;
  }
  if (selections.length === 0) return failed(firstError);
  yield;
  const priced: Selection[] = [];
  for (const selection of selections) {
    yield;
    const discount = bumpFeeDiscount(selection, params);
    if (discount === null) return failed(BUMP_FEES_UNKNOWN);
    priced.push(withWaste({ ...selection, bumpFeeDiscount: discount }, params));
  }
  return { ok: true, value: leastWaste(priced)! };
}

/** Returns the bump fees that coins with common ancestors would pay twice; null where they are unknown. */
function bumpFeeDiscount({ coins }: Selection, { combinedBumpFee }: SelectionParams): Amount | null {
  const unconfirmed = coins.filter(({ depth }) => depth <= 0);
  const summed = unconfirmed.reduce((sum, { bumpFee }) => sum + bumpFee, 0n);
  const combined = combinedBumpFee(unconfirmed.map(({ outpoint }) => outpoint));
  if (combined === null) return null;
  return summed > combined ? summed - combined : 0n;
}
