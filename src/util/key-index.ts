/**
 * Numbers fixed-width byte keys in order of first appearance. Typed arrays keep the memory close to the bytes of the
 * keys, and out of garbage collection.
 */
export class KeyIndex {
  readonly #width: number;
  readonly #salt = crypto.getRandomValues(new Uint32Array(2));
  /** Index + 1 of the key in each slot; 0 in an empty slot. */
  #slots = new Uint32Array(1024);
  #keys: Uint8Array;
  #count = 0;

  /** `width`: bytes of a key, at least 8. */
  constructor(width: number) {
    this.#width = width;
    this.#keys = new Uint8Array(512 * width);
  }

  get count(): number {
    return this.#count;
  }

  /** Returns the number of the key in the first bytes of `key`; a new number for a new key. */
  intern(key: Uint8Array): number {
    if ((this.#count + 1) * 2 > this.#slots.length) this.#grow();
    const slot = this.#probe(key);
    const found = this.#slots[slot]!;
    if (found !== 0) return found - 1;
    const index = this.#count++;
    const at = index * this.#width;
    if (at + this.#width > this.#keys.length) {
      const keys = new Uint8Array(this.#keys.length * 2);
      keys.set(this.#keys);
      this.#keys = keys;
    }
    for (let i = 0; i < this.#width; i++) this.#keys[at + i] = key[i]!;
    this.#slots[slot] = index + 1;
    return index;
  }

  /** Writes the key with this number to `out` at `at`. */
  copyKey(index: number, out: Uint8Array, at: number): void {
    const from = index * this.#width;
    for (let i = 0; i < this.#width; i++) out[at + i] = this.#keys[from + i]!;
  }

  /** Returns a view of the key with this number, valid until the next new key. */
  key(index: number): Uint8Array {
    return this.#keys.subarray(index * this.#width, (index + 1) * this.#width);
  }

  /** Removes all keys. The arrays are kept unless they were far too large. */
  clear(): void {
    if (this.#slots.length > Math.max(1024, this.#count * 16)) {
      this.#slots = new Uint32Array(1024);
      this.#keys = new Uint8Array(512 * this.#width);
    } else this.#slots.fill(0);
    this.#count = 0;
  }

  #hash(bytes: Uint8Array, at: number): number {
    const low = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    const high = bytes[at + 4]! | (bytes[at + 5]! << 8) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 24);
    let h = Math.imul(low ^ this.#salt[0]!, 0x9e3779b1) ^ Math.imul(high ^ this.#salt[1]!, 0x85ebca77);
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
    return (h ^ (h >>> 13)) >>> 0;
  }

  #probe(key: Uint8Array): number {
    const mask = this.#slots.length - 1;
    let slot = this.#hash(key, 0) & mask;
    for (; this.#slots[slot] !== 0; slot = (slot + 1) & mask)
      if (this.#equals(key, (this.#slots[slot]! - 1) * this.#width)) break;
    return slot;
  }

  #equals(key: Uint8Array, at: number): boolean {
    const keys = this.#keys;
    for (let i = 0; i < this.#width; i++) if (keys[at + i] !== key[i]) return false;
    return true;
  }

  #grow(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let index = 0; index < this.#count; index++) {
      let slot = this.#hash(this.#keys, index * this.#width) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = index + 1;
    }
    this.#slots = slots;
  }
}
