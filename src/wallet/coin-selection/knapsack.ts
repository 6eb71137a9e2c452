import type { Amount } from '../../primitives/amount.ts';
import { type RandomBelow, shuffled } from '../../util/random.ts';
import type { Steps } from '../../util/slices.ts';
import { MAX_WEIGHT_EXCEEDED, NO_SELECTION, type Selection, type SelectionOutcome, selectionOf } from './selection.ts';
import { sortedByAmount, wasteOf } from './tree-search.ts';
import type { OutputGroup } from './wallet-coin.ts';

const TRIES = 1000;
/** Range of a random word; its 32 bits are drawn at once. */
const RANDOM_WORD = 0x1_0000_0000;

/**
 * Knapsack, the oldest of the algorithms. Returns a random subset whose amount is close to `target`, or to `target`
 * plus `changeTarget`; or the smallest larger group if that is closer. Groups of negative amount are considered too.
 * One attempt is a step.
 */
export function* selectKnapsack(
  pool: readonly OutputGroup[],
  target: Amount,
  changeTarget: Amount,
  random: RandomBelow,
  maxWeight: number,
): Steps<SelectionOutcome> {
  const found = (groups: readonly OutputGroup[]): Selection => selectionOf('knapsack', target, groups);
  let tooHeavy = false;
  let lowestLarger: OutputGroup | null = null;
  const applicable: OutputGroup[] = [];
  let totalLower = 0n;
  const withChange = target + changeTarget;
  const order = shuffled(pool, random);
  yield;
  for (const group of order) {
    if (group.weight > maxWeight) tooHeavy = true;
    else if (group.amount === target) return { ok: true, value: found([group]) };
    else if (group.amount < withChange) {
      applicable.push(group);
      totalLower += group.amount;
    } else if (lowestLarger === null || group.amount < lowestLarger.amount) lowestLarger = group;
  }

  if (totalLower === target && applicable.length > 0) {
    const all = found(applicable);
    if (all.weight <= maxWeight) return { ok: true, value: all };
    tooHeavy = true;
  }
  if (totalLower < target) {
    if (lowestLarger !== null) return { ok: true, value: found([lowestLarger]) };
    return tooHeavy ? MAX_WEIGHT_EXCEEDED : NO_SELECTION;
  }

  const groups = yield* sortedByAmount(applicable, wasteOf);
  yield;
  let best = yield* bestSubset(groups, totalLower, target, random, maxWeight);
  if (best.amount !== target && totalLower >= withChange)
    best = yield* bestSubset(groups, totalLower, withChange, random, maxWeight);

  const missed = best.amount !== target && best.amount < withChange;
  if (lowestLarger !== null && (missed || lowestLarger.amount <= best.amount))
    return { ok: true, value: found([lowestLarger]) };
  const subset = found(best.members.map((i) => groups[i]!));
  if (subset.weight <= maxWeight) return { ok: true, value: subset };
  return lowestLarger === null ? MAX_WEIGHT_EXCEEDED : { ok: true, value: found([lowestLarger]) };
}

interface Subset {
  /** Indexes in ascending order. */
  readonly members: readonly number[];
  readonly amount: Amount;
}

/**
 * Returns the subset found that reaches the target and is closest to it; in the worst case all groups. The groups
 * descend by amount.
 */
function* bestSubset(
  groups: readonly OutputGroup[],
  total: Amount,
  target: Amount,
  random: RandomBelow,
  maxWeight: number,
): Steps<Subset> {
  const count = groups.length;
  const amounts = Float64Array.from(groups, ({ amount }) => Number(amount));
  yield;
  const weights = Float64Array.from(groups, ({ weight }) => weight);
  const heaviest = weights.reduce((max, weight) => Math.max(max, weight), 0);
  const wanted = Number(target);
  const coin = coinTosses(random);
  const included = new Uint8Array(count);
  const members: number[] = [];
  let best: number[] | null = null;
  let bestAmount = Number(total);
  for (let tries = 0; tries < TRIES && bestAmount !== wanted; tries++) {
    yield;
    for (const i of members) included[i] = 0;
    members.length = 0;
    let amount = 0;
    let weight = 0;
    let reached = false;
    // The first pass chooses at random; if that is too little, the second one adds the others. A subset that is too
    // heavy cannot improve.
    for (let pass = 0; pass < 2 && !reached && weight <= maxWeight; pass++) {
      for (let i = 0; i < count && weight <= maxWeight; i++) {
        if (amount + amounts[i]! >= bestAmount && weight + heaviest <= maxWeight) {
          // Any of these reaches at least the best amount, and would be removed again.
          const end = firstBelow(amounts, bestAmount - amount, i);
          for (; i < end && !reached; i++) reached = pass === 1 || coin();
          i = end - 1;
          continue;
        }
        if (pass === 0 ? !coin() : included[i] === 1) continue;
        amount += amounts[i]!;
        weight += weights[i]!;
        if (amount < wanted || weight > maxWeight) {
          included[i] = 1;
          members.push(i);
          continue;
        }
        reached = true;
        if (amount < bestAmount) {
          bestAmount = amount;
          best = [...members, i];
        }
        // Without this group, a smaller later one may come closer.
        amount -= amounts[i]!;
        weight -= weights[i]!;
      }
    }
  }
  return { members: best?.sort((a, b) => a - b) ?? groups.map((_, i) => i), amount: BigInt(bestAmount) };
}

/** Returns the first index from `start` on whose amount is below the limit. The amounts descend. */
function firstBelow(amounts: Float64Array, limit: number, start: number): number {
  let low = start;
  let high = amounts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (amounts[middle]! < limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

function coinTosses(random: RandomBelow): () => boolean {
  let bits = 0;
  let left = 0;
  return () => {
    if (left === 0) {
      bits = random(RANDOM_WORD);
      left = 32;
    }
    const bit = bits & 1;
    bits >>>= 1;
    left--;
    return bit === 1;
  };
}
