const INITIAL_POSITIONS = 1024;

/**
 * A hash index of table slots by a fixed-width key that the table stores: 8 bytes for each entry, and nothing for the
 * garbage collector to trace. The caller must not add a key twice.
 */
export class SlotIndex {
  readonly #width: number;
  readonly #stride: number;
  readonly #keys: () => Uint8Array;
  readonly #salt = crypto.getRandomValues(new Uint32Array(2));
  /** Slot + 1 for each position of the hash table; 0 if it is empty. */
  #positions = new Uint32Array(INITIAL_POSITIONS);
  #count = 0;

  /**
   * `keys` returns the table's current key bytes: the key of slot n is the `width` bytes from byte n * stride on.
   * `width` is at least 8.
   */
  constructor(width: number, keys: () => Uint8Array, stride = width) {
    this.#width = width;
    this.#stride = stride;
    this.#keys = keys;
  }

  get count(): number {
    return this.#count;
  }

  /** Returns the slot of the key in `bytes` at offset `at`, or -1. */
  find(bytes: Uint8Array, at = 0): number {
    return this.#positions[this.#probe(bytes, at)]! - 1;
  }

  /** Adds a slot whose key is in the table. */
  add(slot: number): void {
    if ((this.#count + 1) * 2 > this.#positions.length) this.#grow();
    this.#insertInto(this.#positions, this.#keys(), slot);
    this.#count++;
  }

  /** Removes a slot whose key is still in the table. */
  remove(slot: number): void {
    const keys = this.#keys();
    const positions = this.#positions;
    const mask = positions.length - 1;
    let gap = this.#hash(keys, slot * this.#stride) & mask;
    while (positions[gap] !== slot + 1) {
      if (positions[gap] === 0) return;
      gap = (gap + 1) & mask;
    }
    positions[gap] = 0;
    this.#count--;
    // Later entries move into the gap, unless they are at their home position or their home is behind the gap.
    for (let at = (gap + 1) & mask; positions[at] !== 0; at = (at + 1) & mask) {
      const home = this.#hash(keys, (positions[at]! - 1) * this.#stride) & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      positions[gap] = positions[at]!;
      positions[at] = 0;
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
    const positions = this.#positions;
    const mask = positions.length - 1;
    let position = this.#hash(bytes, from) & mask;
    for (; positions[position] !== 0; position = (position + 1) & mask) {
      const at = (positions[position]! - 1) * stride;
      let same = 0;
      while (same < width && keys[at + same] === bytes[from + same]) same++;
      if (same === width) break;
    }
    return position;
  }

  #insertInto(positions: Uint32Array, keys: Uint8Array, slot: number): void {
    const mask = positions.length - 1;
    let position = this.#hash(keys, slot * this.#stride) & mask;
    while (positions[position] !== 0) position = (position + 1) & mask;
    positions[position] = slot + 1;
  }

  #grow(): void {
    const positions = new Uint32Array(this.#positions.length * 2);
    const keys = this.#keys();
    for (const value of this.#positions) if (value !== 0) this.#insertInto(positions, keys, value - 1);
    this.#positions = positions;
  }
}
