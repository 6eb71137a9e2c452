import { type RandomBelow, shuffled } from '../../p2p/random-source.ts';
import type { Amount } from '../../primitives/amount.ts';
import type { OutputGroup } from './coin.ts';
import { MAX_WEIGHT_EXCEEDED, NO_SELECTION, type Selection, type SelectionOutcome, selectionOf } from './selection.ts';
import { byAmount } from './tree-search.ts';

const TRIES = 1000;
/** Its bits are drawn all at once. */
const RANDOM_WORD = 0x1_0000_0000;

/**
 * The oldest of the algorithms: by chance, the subset nearest to `target`, or to that with `changeTarget`; or the
 * smallest group above, where that is nearer. Groups of negative amount are considered too.
 */
export function selectKnapsack(
  pool: readonly OutputGroup[],
  target: Amount,
  changeTarget: Amount,
  random: RandomBelow,
  maxWeight: number,
): SelectionOutcome {
  const found = (groups: readonly OutputGroup[]): Selection => selectionOf('knapsack', target, groups);
  let tooHeavy = false;
  let lowestLarger: OutputGroup | null = null;
  const applicable: OutputGroup[] = [];
  let totalLower = 0n;
  for (const group of shuffled(pool, random)) {
    if (group.weight > maxWeight) tooHeavy = true;
    else if (group.amount === target) return { ok: true, value: found([group]) };
    else if (group.amount < target + changeTarget) {
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

  const groups = applicable.sort(byAmount(({ fee, longTermFee }) => fee - longTermFee));
  let best = bestSubset(groups, totalLower, target, random, maxWeight);
  if (best.amount !== target && totalLower >= target + changeTarget)
    best = bestSubset(groups, totalLower, target + changeTarget, random, maxWeight);

  const missed = best.amount !== target && best.amount < target + changeTarget;
  if (lowestLarger !== null && (missed || lowestLarger.amount <= best.amount))
    return { ok: true, value: found([lowestLarger]) };
  const subset = found(groups.filter((_, i) => best.included[i] === 1));
  if (subset.weight <= maxWeight) return { ok: true, value: subset };
  return lowestLarger === null ? MAX_WEIGHT_EXCEEDED : { ok: true, value: found([lowestLarger]) };
}

interface Subset {
  readonly included: Uint8Array;
  readonly amount: Amount;
}

/** The subset found of those that reach the target, nearest to it; all of them at worst. */
function bestSubset(
  groups: readonly OutputGroup[],
  total: Amount,
  target: Amount,
  random: RandomBelow,
  maxWeight: number,
): Subset {
  const count = groups.length;
  const amounts = Float64Array.from(groups, ({ amount }) => Number(amount));
  const weights = Float64Array.from(groups, ({ weight }) => weight);
  const wanted = Number(target);
  const included = new Uint8Array(count);
  const best = new Uint8Array(count).fill(1);
  let bestAmount = Number(total);
  let bits = 0;
  let bitsLeft = 0;
  for (let tries = 0; tries < TRIES && bestAmount !== wanted; tries++) {
    included.fill(0);
    let amount = 0;
    let weight = 0;
    let reached = false;
    // First by chance; then, where that fell short, what was left out.
    for (let pass = 0; pass < 2 && !reached; pass++) {
      for (let i = 0; i < count; i++) {
        if (pass === 0) {
          if (bitsLeft === 0) {
            bits = random(RANDOM_WORD);
            bitsLeft = 32;
          }
          const bit = bits & 1;
          bits >>>= 1;
          bitsLeft--;
          if (bit === 0) continue;
        } else if (included[i] === 1) continue;
        amount += amounts[i]!;
        weight += weights[i]!;
        included[i] = 1;
        if (amount < wanted || weight > maxWeight) continue;
        reached = true;
        if (amount < bestAmount) {
          bestAmount = amount;
          best.set(included);
        }
        // Without this one, a smaller one behind it may come nearer.
        amount -= amounts[i]!;
        weight -= weights[i]!;
        included[i] = 0;
      }
    }
  }
  return { included: best, amount: BigInt(bestAmount) };
}
