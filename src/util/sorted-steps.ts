import type { Steps } from './slices.ts';

/** Items that are sorted or merged in one step: a few milliseconds. */
const ITEMS_PER_STEP = 4096;

/**
 * Returns the numbers from 0 to `count` - 1, sorted by `compare` in steps. The order is that of a stable sort, which does
 * not depend on the steps.
 */
export function* sortedIndexes(count: number, compare: (a: number, b: number) => number): Steps<Uint32Array> {
  let order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  for (let from = 0; from < count; from += ITEMS_PER_STEP) {
    order.subarray(from, from + ITEMS_PER_STEP).sort(compare);
    yield;
  }
  let merged = new Uint32Array(count);
  for (let width = ITEMS_PER_STEP; width < count; width *= 2) {
    for (let from = 0; from < count; from += 2 * width) {
      const middle = Math.min(from + width, count);
      const end = Math.min(middle + width, count);
      let [left, right] = [from, middle];
      for (let to = from; to < end; to++) {
        const takesLeft = right === end || (left < middle && compare(order[left]!, order[right]!) <= 0);
        merged[to] = takesLeft ? order[left++]! : order[right++]!;
        if (to % ITEMS_PER_STEP === 0) yield;
      }
    }
    [order, merged] = [merged, order];
  }
  return order;
}
