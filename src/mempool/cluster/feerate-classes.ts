import { grown, grownRows } from '../../util/column.ts';

/** Feerates are sorted into classes, so many to a doubling; they begin at 2^-20 satoshis to a unit of weight. */
const CLASSES_PER_DOUBLING = 16;
const LOWEST = -20;
const CLASSES = 64 * CLASSES_PER_DOUBLING;
export const BEST_CLASS = CLASSES - 1;
const INITIAL = 256;

/** The lowest class holds what pays nothing, and slots that are free. */
export function feerateClass(fee: number, size: number): number {
  if (fee <= 0) return 0;
  const at = Math.floor((Math.log2(fee / size) - LOWEST) * CLASSES_PER_DOUBLING);
  return Math.min(BEST_CLASS, Math.max(1, at));
}

/**
 * The class of the chunk that each slot is in, in a row: so that the best of a large mempool are found without going
 * through the objects of all clusters, which takes a hundred times as long.
 */
export class FeerateClasses {
  #of = new Uint16Array(INITIAL);

  get(slot: number): number {
    return this.#of[slot] ?? 0;
  }

  set(slot: number, inClass: number): void {
    while (slot >= this.#of.length) this.#of = grown(this.#of, grownRows(this.#of.length));
    this.#of[slot] = inClass;
  }

  /** The class from which on, upwards, the first slots weigh so much together; 0 where they do not. */
  classAbove(weights: Uint32Array, weight: number): number {
    const sums = new Float64Array(CLASSES);
    const end = Math.min(weights.length, this.#of.length);
    for (let slot = 0; slot < end; slot++) sums[this.#of[slot]!]! += weights[slot]!;
    let least = BEST_CLASS;
    for (let sum = sums[least]!; sum < weight && least > 0; sum += sums[least]!) least--;
    return least;
  }
}
