const COMPACT_AT = 1000;

/** Slots in order of arrival. Each has a number, and numbers only increase. */
export class Arrivals {
  #numbers: number[] = [];
  /** -1 for a slot that was removed. */
  #slots: number[] = [];
  #gone = 0;

  add(number: number, slot: number): void {
    this.#numbers.push(number);
    this.#slots.push(slot);
  }

  remove(number: number): void {
    const at = this.#from(number);
    if (this.#numbers[at] !== number || this.#slots[at] === -1) return;
    this.#slots[at] = -1;
    this.#gone++;
    if (this.#gone < COMPACT_AT || this.#gone * 2 < this.#slots.length) return;
    const kept = this.#slots.map((slot) => slot !== -1);
    this.#numbers = this.#numbers.filter((_, i) => kept[i]);
    this.#slots = this.#slots.filter((slot) => slot !== -1);
    this.#gone = 0;
  }

  /** Returns all current slots, oldest first, with -1 for removed ones, and their numbers. */
  all(): { slots: Int32Array; numbers: Float64Array } {
    return { slots: new Int32Array(this.#slots), numbers: new Float64Array(this.#numbers) };
  }

  /** Yields the slots with a higher number, oldest first. */
  *after(number: number): Generator<number> {
    for (let at = this.#from(number + 1); at < this.#slots.length; at++)
      if (this.#slots[at] !== -1) yield this.#slots[at]!;
  }

  /** Yields the slots with a lower number, newest first. */
  *before(number: number): Generator<number> {
    for (let at = this.#from(number) - 1; at >= 0; at--) if (this.#slots[at] !== -1) yield this.#slots[at]!;
  }

  /** Returns the index of the first entry with at least this number. */
  #from(number: number): number {
    let low = 0;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#numbers[middle]! < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
