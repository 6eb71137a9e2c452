import { grown, grownRows } from '../util/column.ts';

const INITIAL = 256;
const COMPACT_AT = 1000;
const REMOVED = -1;

/** Slots in order of arrival. Each has a number, and numbers only increase. */
export class Arrivals {
  #numbers = new Float64Array(INITIAL);
  /** REMOVED for a slot that was removed. */
  #slots = new Int32Array(INITIAL);
  #length = 0;
  #gone = 0;

  add(number: number, slot: number): void {
    if (this.#length === this.#slots.length) {
      const rows = grownRows(this.#length);
      this.#numbers = grown(this.#numbers, rows);
      this.#slots = grown(this.#slots, rows);
    }
    this.#numbers[this.#length] = number;
    this.#slots[this.#length++] = slot;
  }

  remove(number: number): void {
    const at = this.#from(number);
    if (at === this.#length || this.#numbers[at] !== number || this.#slots[at] === REMOVED) return;
    this.#slots[at] = REMOVED;
    this.#gone++;
    if (this.#gone >= COMPACT_AT && this.#gone * 2 >= this.#length) this.#compact();
  }

  /** Returns all current slots, oldest first, with -1 for removed ones, and their numbers. */
  all(): { slots: Int32Array; numbers: Float64Array } {
    return { slots: this.#slots.slice(0, this.#length), numbers: this.#numbers.slice(0, this.#length) };
  }

  /** Yields the slots with a higher number, oldest first. */
  *after(number: number): Generator<number> {
    for (let at = this.#from(number + 1); at < this.#length; at++)
      if (this.#slots[at] !== REMOVED) yield this.#slots[at]!;
  }

  /** Yields the slots with a lower number, newest first. */
  *before(number: number): Generator<number> {
    for (let at = this.#from(number) - 1; at >= 0; at--) if (this.#slots[at] !== REMOVED) yield this.#slots[at]!;
  }

  /** Drops the removed slots. */
  #compact(): void {
    const length = this.#length - this.#gone;
    const rows = Math.max(INITIAL, grownRows(length));
    const numbers = new Float64Array(rows);
    const slots = new Int32Array(rows);
    let to = 0;
    for (let at = 0; at < this.#length; at++) {
      if (this.#slots[at] === REMOVED) continue;
      numbers[to] = this.#numbers[at]!;
      slots[to++] = this.#slots[at]!;
    }
    this.#numbers = numbers;
    this.#slots = slots;
    this.#length = length;
    this.#gone = 0;
  }

  /** Returns the index of the first entry with at least this number. */
  #from(number: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#numbers[middle]! < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
