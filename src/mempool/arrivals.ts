/** Slots in the order in which they came, by a number that only grows. Any may leave again. */
export class Arrivals {
  #numbers: number[] = [];
  /** -1 where one has left. */
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

  /** All at this moment, the oldest first: slots, -1 where one has left, and their numbers. */
  all(): { slots: Int32Array; numbers: Float64Array } {
    return { slots: new Int32Array(this.#slots), numbers: new Float64Array(this.#numbers) };
  }

  /** Those behind a number, the oldest first. */
  *after(number: number): Generator<number> {
    for (let at = this.#from(number + 1); at < this.#slots.length; at++)
      if (this.#slots[at] !== -1) yield this.#slots[at]!;
  }

  /** Those before a number, the newest first. */
  *before(number: number): Generator<number> {
    for (let at = this.#from(number) - 1; at >= 0; at--) if (this.#slots[at] !== -1) yield this.#slots[at]!;
  }

  /** Index of the first with this number or a higher one. */
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

const COMPACT_AT = 1000;
