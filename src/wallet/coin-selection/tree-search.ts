import type { Amount } from '../../primitives/amount.ts';
import type { OutputGroup } from './wallet-coin.ts';

/** Maximum number of coin sets that a search evaluates. */
const MAX_TRIES = 100_000;

/** Returns the groups by descending amount; equal ones by `tie`, then in their order. */
export function sortedByAmount(
  groups: readonly OutputGroup[],
  tie: (group: OutputGroup) => Amount | number,
): OutputGroup[] {
  // Sums of satoshis fit a double, and doubles are compared much faster than bigints.
  const amounts = new Float64Array(groups.length);
  const ties = new Float64Array(groups.length);
  const order = new Uint32Array(groups.length);
  for (const [i, group] of groups.entries()) {
    amounts[i] = Number(group.amount);
    ties[i] = Number(tie(group));
    order[i] = i;
  }
  order.sort((a, b) => amounts[b]! - amounts[a]! || ties[a]! - ties[b]!);
  return Array.from(order, (i) => groups[i]!);
}

/** Returns the fee of an input beyond its long-term fee. */
export function wasteOf({ fee, longTermFee }: OutputGroup): Amount {
  return fee - longTermFee;
}

/** Returns the sum of the amounts behind each group; the last entry is the sum of all. */
export function lookaheads(amounts: readonly number[]): { readonly after: number[]; readonly total: number } {
  const after = new Array<number>(amounts.length);
  let total = 0;
  for (let i = amounts.length - 1; i >= 0; i--) {
    after[i] = total;
    total += amounts[i]!;
  }
  return { after, total };
}

/** Next step after a set was evaluated: add the next group, replace the last one, or skip the subtree. */
export type SearchStep = 'explore' | 'shift' | 'cut';

/**
 * Walks the tree of all sets of `amounts`, which descend, inclusion first. `evaluate` is called after a group was
 * added, and `deselect` when the last one is removed. After an omission, groups of the same amount are skipped, since
 * they form an equal or worse set. Returns the number of sets, and whether the walk is complete.
 */
export function searchSets(
  amounts: readonly number[],
  evaluate: (last: number, selected: readonly number[]) => SearchStep,
  deselect: (index: number) => void,
): { completed: boolean; evaluated: number } {
  const selected: number[] = [];
  const drop = () => deselect(selected.pop()!);
  let next = 0;
  for (let tries = 1; ; tries++) {
    const last = next++;
    selected.push(last);
    let step = evaluate(last, selected);
    if (tries >= MAX_TRIES) return { completed: false, evaluated: tries };
    if (next === amounts.length) step = 'cut';
    if (step === 'cut') drop();
    let shift = step !== 'explore';
    while (shift) {
      if (selected.length === 0) return { completed: true, evaluated: tries };
      next = selected[selected.length - 1]! + 1;
      drop();
      shift = false;
      while (amounts[next - 1] === amounts[next]) {
        if (next >= amounts.length - 1) {
          shift = true;
          break;
        }
        next++;
      }
    }
  }
}
