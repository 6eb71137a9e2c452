import { assert } from './assert.ts';

/**
 * A binary heap of table slots, the one with the least key first, from which any slot can be removed. About eight bytes
 * for each slot.
 */
export class SlotHeap {
  readonly #key: (slot: number) => number;
  readonly #slots: number[] = [];
  /** Index in the heap for each slot, or -1. */
  #indexes = new Int32Array(64).fill(-1);

  /** `key`: the key of a slot, which must not change while the slot is in the heap. */
  constructor(key: (slot: number) => number) {
    this.#key = key;
  }

  get size(): number {
    return this.#slots.length;
  }

  /** The slot with the least key, or -1. */
  get first(): number {
    return this.#slots[0] ?? -1;
  }

  has(slot: number): boolean {
    return slot < this.#indexes.length && this.#indexes[slot]! >= 0;
  }

  add(slot: number): void {
    assert(!this.has(slot), 'a slot is in the heap once');
    while (slot >= this.#indexes.length) this.#grow();
    this.#slots.push(slot);
    this.#rise(this.#slots.length - 1, slot);
  }

  /** Removes a slot; does nothing if it is not in the heap. */
  remove(slot: number): void {
    if (!this.has(slot)) return;
    const index = this.#indexes[slot]!;
    this.#indexes[slot] = -1;
    const last = this.#slots.pop()!;
    if (last === slot) return;
    const parent = (index - 1) >> 1;
    if (index > 0 && this.#key(last) < this.#key(this.#slots[parent]!)) this.#rise(index, last);
    else this.#sink(index, last);
  }

  #rise(from: number, slot: number): void {
    const key = this.#key(slot);
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.#slots[parent]!;
      if (this.#key(above) <= key) break;
      this.#setSlot(index, above);
      index = parent;
    }
    this.#setSlot(index, slot);
  }

  #sink(from: number, slot: number): void {
    const key = this.#key(slot);
    const { length } = this.#slots;
    let index = from;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= length) break;
      if (child + 1 < length && this.#key(this.#slots[child + 1]!) < this.#key(this.#slots[child]!)) child++;
      const below = this.#slots[child]!;
      if (this.#key(below) >= key) break;
      this.#setSlot(index, below);
      index = child;
    }
    this.#setSlot(index, slot);
  }

  #setSlot(index: number, slot: number): void {
    this.#slots[index] = slot;
    this.#indexes[slot] = index;
  }

  #grow(): void {
    const { length } = this.#indexes;
    const larger = new Int32Array(length * 2).fill(-1, length);
    larger.set(this.#indexes);
    this.#indexes = larger;
  }
}
