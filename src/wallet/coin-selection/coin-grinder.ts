import { type Amount, MAX_MONEY } from '../../primitives/amount.ts';
import type { Steps } from '../../util/slices.ts';
import { MAX_WEIGHT_EXCEEDED, NO_SELECTION, type SelectionOutcome, selectionOf } from './selection.ts';
import { lookaheads, searchSets, sortedByAmount } from './tree-search.ts';
import type { OutputGroup } from './wallet-coin.ts';

/**
 * CoinGrinder. Returns the lightest set of groups that pays `target` and leaves `changeTarget` for change; among
 * equally light ones, that with the smallest amount. All amounts must be positive.
 */
export function* selectCoinGrinder(
  pool: readonly OutputGroup[],
  target: Amount,
  changeTarget: Amount,
  maxWeight: number,
): Steps<SelectionOutcome> {
  const groups = yield* sortedByAmount(pool, ({ weight }) => weight);
  yield;
  const amounts = groups.map(({ amount }) => Number(amount));
  yield;
  const weights = groups.map(({ weight }) => weight);
  const { after, total } = lookaheads(amounts);
  const least = Number(target + changeTarget);
  if (groups.length === 0 || total < least) return NO_SELECTION;
  yield;

  const minTailWeight = new Array<number>(groups.length);
  let minWeight = 0x7fff_ffff;
  for (let i = groups.length - 1; i >= 0; i--) {
    minTailWeight[i] = minWeight;
    minWeight = Math.min(minWeight, groups[i]!.weight);
  }

  let amount = 0;
  let weight = 0;
  let best: readonly number[] = [];
  // The limit itself is allowed.
  let bestWeight = maxWeight;
  let bestAmount = Number(MAX_MONEY);
  let tooHeavy = false;
  const search = yield* searchSets(
    amounts,
    (last, selected) => {
      amount += amounts[last]!;
      weight += weights[last]!;
      if (amount + after[last]! < least) return 'cut';
      // No later group is lighter than the lightest one, so replacing it cannot help.
      const worse = weights[last]! <= minTailWeight[last]! ? 'cut' : 'shift';
      if (weight > bestWeight) {
        if (weight > maxWeight) tooHeavy = true;
        return worse;
      }
      if (amount >= least) {
        if (weight < bestWeight || (weight === bestWeight && amount < bestAmount)) {
          best = [...selected];
          bestWeight = weight;
          bestAmount = amount;
        }
        return 'shift';
      }
      // Every remaining group has at most this one's amount and at least the minimum weight, so this many are needed.
      const missing = Math.ceil((least - amount) / amounts[last]!);
      if (best.length > 0 && weight + minTailWeight[last]! * missing > bestWeight) return worse;
      return 'explore';
    },
    (index) => {
      amount -= amounts[index]!;
      weight -= weights[index]!;
    },
  );
  if (best.length === 0) return tooHeavy ? MAX_WEIGHT_EXCEEDED : NO_SELECTION;
  const chosen = best.map((i) => groups[i]!);
  return { ok: true, value: selectionOf('cg', target, chosen, search) };
}
