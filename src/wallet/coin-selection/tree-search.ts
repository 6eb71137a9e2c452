import type { Amount } from '../../primitives/amount.ts';
import type { Steps } from '../../util/slices.ts';
import { sortedIndexes } from '../../util/sorted-steps.ts';
import type { OutputGroup } from './wallet-coin.ts';

/** Maximum number of coin sets that a search evaluates. */
const MAX_TRIES = 100_000;
/** Number of coin sets that one step evaluates, about a millisecond. */
const TRIES_PER_STEP = 1000;

/** Returns the groups by descending amount; equal ones by `tie`, then in their order. Sorts in steps. */
export function* sortedByAmount(
  groups: readonly OutputGroup[],
  tie: (group: OutputGroup) => Amount | number,
): Steps<OutputGroup[]> {
  // Sums of satoshis fit a double, and doubles are compared much faster than bigints.
  const amounts = Float64Array.from(groups, ({ amount }) => Number(amount));
  yield;
  const ties = Float64Array.from(groups, (group) => Number(tie(group)));
  yield;
  const order = yield* sortedIndexes(groups.length, (a, b) => amounts[b]! - amounts[a]! || ties[a]! - ties[b]!);
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
 * they form an equal or worse set. Returns the number of sets, and whether the walk is complete. A step evaluates a
 * thousand sets.
 */
export function* searchSets(
  amounts: readonly number[],
  evaluate: (last: number, selected: readonly number[]) => SearchStep,
  deselect: (index: number) => void,
): Steps<{ completed: boolean; evaluated: number }> {
  const behindEqual = runEnds(amounts);
  const selected: number[] = [];
  const drop = () => deselect(selected.pop()!);
  let next = 0;
  for (let tries = 1; ; tries++) {
    if (tries % TRIES_PER_STEP === 0) yield;
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
      if (amounts[next - 1] === amounts[next]) next = behindEqual[next]!;
      shift = next === amounts.length;
    }
  }
}

/** Returns for each amount the index behind the last one in a row that equals it. */
function runEnds(amounts: readonly number[]): Uint32Array {
  const ends = new Uint32Array(amounts.length);
  for (let i = amounts.length - 1; i >= 0; i--) ends[i] = amounts[i] === amounts[i + 1] ? ends[i + 1]! : i + 1;
  return ends;
}
