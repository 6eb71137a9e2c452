/** Bits of the filter for each distinct key prefix: about one look-up in a hundred finds a key that is not there. */
const BITS_PER_PREFIX = 10;
const BLOCK_WORDS = 8;
const FILTER_BLOCK_SIZE = BLOCK_WORDS * 4;

const MULTIPLIERS = Uint32Array.of(
  0x47b6137b,
  0x44974d91,
  0x8824ad5b,
  0xa2b7289d,
  0x705495c7,
  0x2df1424b,
  0x9efc4947,
  0x5c6bfb31,
);

/**
 * A split block Bloom filter, as Parquet specifies it: one bit in each of the eight words of one block, so that a
 * look-up touches one cache line. The keys are hashes already; the salt prevents an attacker from constructing keys
 * that collide.
 */
export class RunFilter {
  readonly words: Uint32Array;
  readonly #blocks: number;
  readonly #salt: number;

  /** `words` has a multiple of eight items. */
  constructor(words: Uint32Array, salt: number) {
    this.words = words;
    this.#blocks = words.length / BLOCK_WORDS;
    this.#salt = salt;
  }

  /** Returns an empty filter for up to `count` distinct prefixes. */
  static sized(count: number, salt: number): RunFilter {
    const blocks = Math.max(1, Math.ceil((count * BITS_PER_PREFIX) / (FILTER_BLOCK_SIZE * 8)));
    return new RunFilter(new Uint32Array(blocks * BLOCK_WORDS), salt);
  }

  /** Adds the key whose bytes, at least 12, begin at `at`. */
  addKey(keys: Uint8Array, at: number): void {
    const base = this.#block(keys, at);
    const hash = this.#hash(keys, at);
    for (let i = 0; i < BLOCK_WORDS; i++) this.words[base + i]! |= 1 << (Math.imul(hash, MULTIPLIERS[i]!) >>> 27);
  }

  /** Returns false if the key was never added. */
  mayHold(keys: Uint8Array, at: number): boolean {
    const base = this.#block(keys, at);
    const hash = this.#hash(keys, at);
    for (let i = 0; i < BLOCK_WORDS; i++)
      if ((this.words[base + i]! & (1 << (Math.imul(hash, MULTIPLIERS[i]!) >>> 27))) === 0) return false;
    return true;
  }

  #block(keys: Uint8Array, at: number): number {
    const h = Math.imul(word(keys, at) ^ this.#salt, 0x9e3779b1) ^ word(keys, at + 8);
    const mixed = Math.imul(h ^ (h >>> 15), 0x85ebca77);
    return Math.floor((((mixed ^ (mixed >>> 13)) >>> 0) / 0x1_0000_0000) * this.#blocks) * BLOCK_WORDS;
  }

  #hash(keys: Uint8Array, at: number): number {
    const h = Math.imul(word(keys, at + 4) ^ this.#salt, 0x2c1b3c6d) ^ word(keys, at);
    return Math.imul(h ^ (h >>> 16), 0xc2b2ae3d);
  }
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
