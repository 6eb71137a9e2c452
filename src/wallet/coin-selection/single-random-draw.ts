import type { Amount } from '../../primitives/amount.ts';
import { type RandomBelow, shuffled } from '../../util/random.ts';
import type { Steps } from '../../util/slices.ts';
import { CHANGE_LOWER } from './change-target.ts';
import { MAX_WEIGHT_EXCEEDED, NO_SELECTION, type SelectionOutcome, selectionOf } from './selection.ts';
import type { OutputGroup } from './wallet-coin.ts';

/**
 * Single random draw. Adds random groups until they pay `target` and leave viable change. If they become too heavy, the
 * least valuable ones are removed. All amounts must be positive. A step adds a group.
 */
export function* selectSingleRandomDraw(
  pool: readonly OutputGroup[],
  target: Amount,
  changeFee: Amount,
  random: RandomBelow,
  maxWeight: number,
): Steps<SelectionOutcome> {
  const wanted = target + CHANGE_LOWER + changeFee;
  // Largest first, since the least valuable are removed.
  const drawn: OutputGroup[] = [];
  let amount = 0n;
  let weight = 0;
  let tooHeavy = false;
  for (const group of shuffled(pool, random)) {
    yield;
    insertSorted(drawn, group);
    amount += group.amount;
    weight += group.weight;
    while (weight > maxWeight && drawn.length > 0) {
      tooHeavy = true;
      const removed = drawn.pop()!;
      amount -= removed.amount;
      weight -= removed.weight;
    }
    if (amount >= wanted) return { ok: true, value: selectionOf('srd', target, drawn.toReversed()) };
  }
  return tooHeavy ? MAX_WEIGHT_EXCEEDED : NO_SELECTION;
}

function largestFirst(a: OutputGroup, b: OutputGroup): number {
  if (a.amount !== b.amount) return a.amount > b.amount ? -1 : 1;
  return a.weight - b.weight;
}

function insertSorted(groups: OutputGroup[], group: OutputGroup): void {
  let low = 0;
  let high = groups.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (largestFirst(groups[middle]!, group) <= 0) low = middle + 1;
    else high = middle;
  }
  groups.splice(low, 0, group);
}
