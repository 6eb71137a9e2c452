/** Bits of the filter for each key: about one look-up in a hundred finds a key that is not there. */
const BITS_PER_KEY = 10;
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

/** The parts of a key that filters use, read once for the filters of all runs. */
export class FilterKey {
  first = 0;
  second = 0;
  third = 0;
  /** The bytes behind those of a txid: the output index. */
  tail = 0;

  /** Reads the key of 36 bytes, a txid and an output index, that begins at `at`. */
  load(keys: Uint8Array, at: number): this {
    this.first = word(keys, at);
    this.second = word(keys, at + 4);
    this.third = word(keys, at + 8);
    this.tail = (keys[at + 32]! << 24) | (keys[at + 33]! << 16) | (keys[at + 34]! << 8) | keys[at + 35]!;
    return this;
  }
}

/**
 * A split block Bloom filter, as Parquet specifies it: one bit in each of the eight words of one block, so that a
 * look-up touches one cache line. Keys begin with hashes already; the salt prevents an attacker from constructing keys
 * that collide.
 */
export class RunFilter {
  readonly words: Uint32Array;
  readonly #blocks: number;
  readonly #salt: number;
  /** Factor of the output index; 0 if the filter holds txids alone. */
  readonly #tailFactor: number;
  readonly #added = new FilterKey();

  /** `words` has a multiple of eight items. `whole`: whether it holds whole keys rather than their txids alone. */
  constructor(words: Uint32Array, salt: number, whole: boolean) {
    this.words = words;
    this.#blocks = words.length / BLOCK_WORDS;
    this.#salt = salt;
    this.#tailFactor = whole ? 0x2545f491 : 0;
  }

  /** Returns an empty filter for up to `count` distinct keys. */
  static sized(count: number, salt: number): RunFilter {
    const blocks = Math.max(1, Math.ceil((count * BITS_PER_KEY) / (FILTER_BLOCK_SIZE * 8)));
    return new RunFilter(new Uint32Array(blocks * BLOCK_WORDS), salt, true);
  }

  /** Adds the key that begins at `at`. */
  addKey(keys: Uint8Array, at: number): void {
    const key = this.#added.load(keys, at);
    const base = this.#block(key);
    const hash = this.#hash(key);
    for (let i = 0; i < BLOCK_WORDS; i++) this.words[base + i]! |= 1 << (Math.imul(hash, MULTIPLIERS[i]!) >>> 27);
  }

  /** Returns false if the key was never added. */
  mayHold(key: FilterKey): boolean {
    const base = this.#block(key);
    const hash = this.#hash(key);
    for (let i = 0; i < BLOCK_WORDS; i++)
      if ((this.words[base + i]! & (1 << (Math.imul(hash, MULTIPLIERS[i]!) >>> 27))) === 0) return false;
    return true;
  }

  #block({ first, third, tail }: FilterKey): number {
    const h = Math.imul(first ^ this.#salt, 0x9e3779b1) ^ third ^ Math.imul(tail, this.#tailFactor);
    const mixed = Math.imul(h ^ (h >>> 15), 0x85ebca77);
    return Math.floor((((mixed ^ (mixed >>> 13)) >>> 0) / 0x1_0000_0000) * this.#blocks) * BLOCK_WORDS;
  }

  #hash({ first, second, tail }: FilterKey): number {
    const h = Math.imul(second ^ this.#salt, 0x2c1b3c6d) ^ first ^ Math.imul(tail, this.#tailFactor);
    return Math.imul(h ^ (h >>> 16), 0xc2b2ae3d);
  }
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
