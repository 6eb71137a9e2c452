import { assert } from './assert.ts';

/** Slots of a table, the one with the least key first; any of them can be taken out. Eight bytes or so to a slot. */
export class SlotHeap {
  readonly #key: (slot: number) => number;
  readonly #slots: number[] = [];
  /** By slot: its place among the slots, or -1. */
  #places = new Int32Array(64).fill(-1);

  /** `key` of a slot must not change while it is in here. */
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
    return slot < this.#places.length && this.#places[slot]! >= 0;
  }

  add(slot: number): void {
    assert(!this.has(slot), 'a slot is in the heap once');
    while (slot >= this.#places.length) this.#grow();
    this.#slots.push(slot);
    this.#rise(this.#slots.length - 1, slot);
  }

  /** Takes a slot out, if it is in here. */
  remove(slot: number): void {
    if (!this.has(slot)) return;
    const place = this.#places[slot]!;
    this.#places[slot] = -1;
    const last = this.#slots.pop()!;
    if (last === slot) return;
    const parent = (place - 1) >> 1;
    if (place > 0 && this.#key(last) < this.#key(this.#slots[parent]!)) this.#rise(place, last);
    else this.#sink(place, last);
  }

  #rise(from: number, slot: number): void {
    const key = this.#key(slot);
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = this.#slots[parent]!;
      if (this.#key(above) <= key) break;
      this.#put(place, above);
      place = parent;
    }
    this.#put(place, slot);
  }

  #sink(from: number, slot: number): void {
    const key = this.#key(slot);
    const { length } = this.#slots;
    let place = from;
    for (;;) {
      let child = place * 2 + 1;
      if (child >= length) break;
      if (child + 1 < length && this.#key(this.#slots[child + 1]!) < this.#key(this.#slots[child]!)) child++;
      const below = this.#slots[child]!;
      if (this.#key(below) >= key) break;
      this.#put(place, below);
      place = child;
    }
    this.#put(place, slot);
  }

  #put(place: number, slot: number): void {
    this.#slots[place] = slot;
    this.#places[slot] = place;
  }

  #grow(): void {
    const { length } = this.#places;
    const larger = new Int32Array(length * 2).fill(-1, length);
    larger.set(this.#places);
    this.#places = larger;
  }
}
