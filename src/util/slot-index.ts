/**
 * Finds slots of a table by a fixed-width key that the table itself keeps: 8 bytes to an entry, entries can be taken
 * out again, and the collector has nothing to look at. The caller sees to it that no key is put in twice.
 */
export class SlotIndex {
  readonly #width: number;
  readonly #stride: number;
  readonly #keys: () => Uint8Array;
  readonly #salt = crypto.getRandomValues(new Uint32Array(2));
  /** Slot + 1, 0 where there is none. */
  #places = new Uint32Array(INITIAL_PLACES);
  #count = 0;

  /**
   * `keys` yields the table's keys as they are now: slot n has the `width` bytes from byte n * stride on; 8 bytes at
   * least.
   */
  constructor(width: number, keys: () => Uint8Array, stride = width) {
    this.#width = width;
    this.#stride = stride;
    this.#keys = keys;
  }

  get count(): number {
    return this.#count;
  }

  /** The slot with the key that stands in `bytes` at `at`, or -1. */
  find(bytes: Uint8Array, at = 0): number {
    return this.#places[this.#probe(bytes, at)]! - 1;
  }

  /** Adds a slot whose key is in the table already. */
  add(slot: number): void {
    if ((this.#count + 1) * 2 > this.#places.length) this.#grow();
    this.#place(this.#places, this.#keys(), slot);
    this.#count++;
  }

  /** Takes out a slot while its key is still in the table. */
  remove(slot: number): void {
    const keys = this.#keys();
    const places = this.#places;
    const mask = places.length - 1;
    let gap = this.#hash(keys, slot * this.#stride) & mask;
    while (places[gap] !== slot + 1) {
      if (places[gap] === 0) return;
      gap = (gap + 1) & mask;
    }
    places[gap] = 0;
    this.#count--;
    // What came after moves up, unless it stands where it belongs or behind the gap's reach.
    for (let at = (gap + 1) & mask; places[at] !== 0; at = (at + 1) & mask) {
      const home = this.#hash(keys, (places[at]! - 1) * this.#stride) & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      places[gap] = places[at]!;
      places[at] = 0;
      gap = at;
    }
  }

  #hash(bytes: Uint8Array, at: number): number {
    const low = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    const end = at + this.#width - 4;
    const high = bytes[end]! | (bytes[end + 1]! << 8) | (bytes[end + 2]! << 16) | (bytes[end + 3]! << 24);
    let h = Math.imul(low ^ this.#salt[0]!, 0x9e3779b1) ^ Math.imul(high ^ this.#salt[1]!, 0x85ebca77);
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
    return (h ^ (h >>> 13)) >>> 0;
  }

  #probe(bytes: Uint8Array, from: number): number {
    const keys = this.#keys();
    const width = this.#width;
    const stride = this.#stride;
    const places = this.#places;
    const mask = places.length - 1;
    let place = this.#hash(bytes, from) & mask;
    for (; places[place] !== 0; place = (place + 1) & mask) {
      const at = (places[place]! - 1) * stride;
      let same = 0;
      while (same < width && keys[at + same] === bytes[from + same]) same++;
      if (same === width) break;
    }
    return place;
  }

  #place(places: Uint32Array, keys: Uint8Array, slot: number): void {
    const mask = places.length - 1;
    let place = this.#hash(keys, slot * this.#stride) & mask;
    while (places[place] !== 0) place = (place + 1) & mask;
    places[place] = slot + 1;
  }

  #grow(): void {
    const places = new Uint32Array(this.#places.length * 2);
    const keys = this.#keys();
    for (const value of this.#places) if (value !== 0) this.#place(places, keys, value - 1);
    this.#places = places;
  }
}

const INITIAL_PLACES = 1024;
