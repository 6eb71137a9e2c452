import { grown, grownRows } from '../../util/column.ts';

/** Feerates are grouped into logarithmic classes. The classes begin at 2^-20 satoshis per weight unit. */
const CLASSES_PER_DOUBLING = 16;
const LOWEST = -20;
const CLASSES = 64 * CLASSES_PER_DOUBLING;
export const BEST_CLASS = CLASSES - 1;
const INITIAL = 256;

/** Class 0 holds transactions that pay nothing, and free slots. */
export function feerateClass(fee: number, size: number): number {
  if (fee <= 0) return 0;
  const at = Math.floor((Math.log2(fee / size) - LOWEST) * CLASSES_PER_DOUBLING);
  return Math.min(BEST_CLASS, Math.max(1, at));
}

/** Slots of one class; a higher class number means a higher feerate. */
export interface ClassSlots {
  readonly inClass: number;
  readonly slots: Uint32Array;
}

/**
 * The feerate class of each slot's chunk, in a typed array. Finding the best chunks of a large mempool this way takes a
 * hundredth of the time of visiting every cluster object.
 */
export class FeerateClasses {
  #of = new Uint16Array(INITIAL);
  // The sums of class 0 are meaningless: it contains free slots, some of which were never counted.
  readonly #weights = new Float64Array(CLASSES);
  readonly #counts = new Int32Array(CLASSES);

  get(slot: number): number {
    return this.#of[slot] ?? 0;
  }

  /** `weight` is the weight of the transaction. It must not change until the slot is moved to class 0. */
  set(slot: number, inClass: number, weight: number): void {
    while (slot >= this.#of.length) this.#of = grown(this.#of, grownRows(this.#of.length));
    const before = this.#of[slot]!;
    this.#weights[before]! -= weight;
    this.#counts[before]!--;
    this.#weights[inClass]! += weight;
    this.#counts[inClass]!++;
    this.#of[slot] = inClass;
  }

  /**
   * Returns the best classes, highest first, whose slots have a total weight of at least `weight`. If the graph has
   * less, returns all classes including class 0 with its free slots. `end` is one above the highest slot ever used.
   */
  best(weight: number, end: number): ClassSlots[] {
    const counts = this.#counts;
    let least = BEST_CLASS;
    for (let sum = this.#weights[least]!; sum < weight && least > 0; sum += this.#weights[least]!) least--;
    const found: ClassSlots[] = [];
    const starts = new Uint32Array(CLASSES);
    let total = 0;
    for (let inClass = BEST_CLASS; inClass >= Math.max(1, least); inClass--) {
      starts[inClass] = total;
      total += counts[inClass]!;
    }
    starts[0] = total;
    const slots = new Uint32Array(least === 0 ? end : total);
    const at = starts.slice();
    for (let slot = 0; slot < end; slot++) {
      const inClass = this.#of[slot]!;
      if (inClass >= least) slots[at[inClass]!++] = slot;
    }
    for (let inClass = BEST_CLASS; inClass >= least; inClass--)
      if (at[inClass]! > starts[inClass]!)
        found.push({ inClass, slots: slots.subarray(starts[inClass]!, at[inClass]!) });
    return found;
  }
}
