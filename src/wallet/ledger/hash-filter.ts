import { murmur3 } from '../../util/murmur3.ts';

const SEED = 0x5eed_0b5e;

/**
 * A set of 32-bit hashes of byte strings: `has` is always true for a member, and rarely for anything else. Finds the
 * few transactions of a block that may concern a wallet.
 */
export class HashFilter {
  #slots = new Uint32Array(1024);
  #count = 0;

  add(bytes: Uint8Array): void {
    if ((this.#count + 1) * 2 > this.#slots.length) this.#grow();
    const hash = hashOf(bytes);
    const slot = this.#probe(hash);
    if (this.#slots[slot] === hash) return;
    this.#slots[slot] = hash;
    this.#count++;
  }

  has(bytes: Uint8Array): boolean {
    const hash = hashOf(bytes);
    return this.#slots[this.#probe(hash)] === hash;
  }

  #probe(hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = Math.imul(hash, 0x9e37_79b1) & mask;
    while (this.#slots[slot] !== 0 && this.#slots[slot] !== hash) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(old.length * 2);
    for (const hash of old) if (hash !== 0) this.#slots[this.#probe(hash)] = hash;
  }
}

/** Never 0, which marks an empty slot. */
function hashOf(bytes: Uint8Array): number {
  return murmur3(SEED, bytes) || 1;
}
