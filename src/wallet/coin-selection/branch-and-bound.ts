import { type Amount, MAX_MONEY } from '../../primitives/amount.ts';
import type { Steps } from '../../util/slices.ts';
import { MAX_WEIGHT_EXCEEDED, NO_SELECTION, type SelectionOutcome, selectionOf } from './selection.ts';
import { lookaheads, searchSets, sortedByAmount, wasteOf } from './tree-search.ts';
import type { OutputGroup } from './wallet-coin.ts';

/**
 * Branch and bound. Returns the groups that pay `target` without change, exceed it by at most `costOfChange`, and waste
 * the least. All amounts must be positive.
 */
export function* selectBranchAndBound(
  pool: readonly OutputGroup[],
  target: Amount,
  costOfChange: Amount,
  maxWeight: number,
): Steps<SelectionOutcome> {
  const groups = yield* sortedByAmount(pool, wasteOf);
  yield;
  const amounts = groups.map(({ amount }) => Number(amount));
  yield;
  const weights = groups.map(({ weight }) => weight);
  const wastes = groups.map((group) => Number(wasteOf(group)));
  yield;
  const { after, total } = lookaheads(amounts);
  const least = Number(target);
  const most = Number(target + costOfChange);
  if (groups.length === 0 || total < least) return NO_SELECTION;
  yield;

  const feerateIsHigh = wastes[0]! > 0;
  let amount = 0;
  let weight = 0;
  let waste = 0;
  let best: readonly number[] = [];
  let bestWaste = Number(MAX_MONEY);
  let tooHeavy = false;
  const search = yield* searchSets(
    amounts,
    (last, selected) => {
      amount += amounts[last]!;
      weight += weights[last]!;
      waste += wastes[last]!;
      if (amount + after[last]! < least) return 'cut';
      if (weight > maxWeight) {
        tooHeavy = true;
        return 'shift';
      }
      if (amount > most) return 'shift';
      if (feerateIsHigh && waste > bestWaste) return 'shift';
      if (amount < least) return 'explore';
      const withExcess = waste + amount - least;
      if (withExcess <= bestWaste) {
        best = [...selected];
        bestWaste = withExcess;
      }
      return 'shift';
    },
    (index) => {
      amount -= amounts[index]!;
      weight -= weights[index]!;
      waste -= wastes[index]!;
    },
  );
  if (best.length === 0) return tooHeavy ? MAX_WEIGHT_EXCEEDED : NO_SELECTION;
  const chosen = best.map((i) => groups[i]!);
  return { ok: true, value: selectionOf('bnb', target, chosen, search) };
}
