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

/** Slots of a class; the better the class, the higher its number. */
export interface ClassSlots {
  readonly inClass: number;
  readonly slots: Uint32Array;
}

/**
 * The class of the chunk that each slot is in, in a row: so that the best of a large mempool are found without going
 * through the objects of all clusters, which takes a hundred times as long.
 */
export class FeerateClasses {
  #of = new Uint16Array(INITIAL);
  // Of the lowest class these mean nothing: slots that are free are in it, counted or not.
  readonly #weights = new Float64Array(CLASSES);
  readonly #counts = new Int32Array(CLASSES);

  get(slot: number): number {
    return this.#of[slot] ?? 0;
  }

  /** `weight`: that of the transaction, the same each time until its slot was put into the lowest class. */
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
   * The classes, the best first, of which the first slots weigh so much together; where they do not, all of them, the
   * lowest with slots that are free. `end`: slots from there on were never used.
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
