/** Items in ascending order of the leading bits of their keys. */
export interface KeyOrder {
  /** The indexes of the items. Items of equal `groups` are in the order of their indexes. */
  readonly order: Uint32Array;
  /** The leading bits of the key of each item, in the same order: items of different groups have different keys. */
  readonly groups: Float64Array;
}

/**
 * Sorts the indexes 0…count-1 by their 32-bit keys; equal keys stay in order. Keys and indexes are
 * packed into doubles, whose native sort is several times faster than one with a comparison function. From 2^21 items
 * on the lowest bits of the keys are ignored, so the order is approximate: good for inserts, which are faster in order.
 */
export function keyOrder(count: number, key: (index: number) => number): KeyOrder {
  const indexBits = Math.max(1, Math.ceil(Math.log2(count + 1)));
  const span = 2 ** indexBits;
  const drop = 2 ** Math.max(0, indexBits - 21);
  const packed = new Float64Array(count);
  for (let i = 0; i < count; i++) packed[i] = Math.floor(key(i) / drop) * span + i;
  packed.sort();
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    // A remainder of doubles costs several times more.
    const group = Math.floor(packed[i]! / span);
    order[i] = packed[i]! - group * span;
    packed[i] = group;
  }
  return { order, groups: packed };
}
