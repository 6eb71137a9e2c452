import { assert } from './assert.ts';
import { murmur3 } from './murmur3.ts';

const MAX_HASHES = 50;
const HASH_STEP = 0xfba4_c795;
const BITS = 32;
const TWO_32 = 2 ** 32;

/** Returns a random 32-bit number. */
export type RandomTweak = () => number;

const systemTweak: RandomTweak = () => crypto.getRandomValues(new Uint32Array(1))[0]!;

/**
 * A rolling bloom filter as Core's CRollingBloomFilter: contains the last `elements` insertions for certain and up to
 * half as many older ones; other elements match with at most the given rate. Its size is fixed: about 1.8 bytes for
 * each element and factor of ten in the rate.
 */
export class RollingBloomFilter {
  readonly #hashes: number;
  readonly #perGeneration: number;
  readonly #random: RandomTweak;
  /**
   * Two bits for each position, in neighbouring words: 0 if it is empty, else the generation that set it last. Three
   * generations of half the elements each are kept; a new one clears the positions of the oldest.
   */
  readonly #words: Uint32Array;
  #generation = 1;
  #inGeneration = 0;
  /** Secret seed of the hashes, so that an attacker cannot choose colliding elements. */
  #tweak = 0;

  constructor(elements: number, falsePositiveRate: number, random: RandomTweak = systemTweak) {
    assert(elements > 0 && falsePositiveRate > 0 && falsePositiveRate < 1, 'size and rate of a filter');
    const logRate = Math.log(falsePositiveRate);
    this.#hashes = Math.max(1, Math.min(MAX_HASHES, Math.round(logRate / Math.log(0.5))));
    this.#perGeneration = Math.ceil(elements / 2);
    const most = this.#perGeneration * 3;
    const bits = Math.ceil((-this.#hashes * most) / Math.log(1 - Math.exp(logRate / this.#hashes)));
    this.#words = new Uint32Array(Math.ceil(bits / BITS) * 2);
    this.#random = random;
    this.reset();
  }

  insert(element: Uint8Array): void {
    if (this.#inGeneration === this.#perGeneration) this.#nextGeneration();
    this.#inGeneration++;
    const words = this.#words;
    const low = this.#generation & 1;
    const high = this.#generation >> 1;
    for (let n = 0; n < this.#hashes; n++) {
      const hash = this.#hash(n, element);
      const at = this.#pairOf(hash);
      const bit = hash & (BITS - 1);
      words[at] = (words[at]! & ~(1 << bit)) | (low << bit);
      words[at + 1] = (words[at + 1]! & ~(1 << bit)) | (high << bit);
    }
  }

  contains(element: Uint8Array): boolean {
    const words = this.#words;
    for (let n = 0; n < this.#hashes; n++) {
      const hash = this.#hash(n, element);
      const at = this.#pairOf(hash);
      if ((((words[at]! | words[at + 1]!) >>> (hash & (BITS - 1))) & 1) === 0) return false;
    }
    return true;
  }

  /** Removes all elements and chooses a new tweak. */
  reset(): void {
    this.#tweak = this.#random() >>> 0;
    this.#generation = 1;
    this.#inGeneration = 0;
    this.#words.fill(0);
  }

  #nextGeneration(): void {
    this.#inGeneration = 0;
    this.#generation = (this.#generation % 3) + 1;
    // Clears the positions of the generation whose number is reused.
    const low = this.#generation & 1 ? 0xffff_ffff : 0;
    const high = this.#generation >> 1 ? 0xffff_ffff : 0;
    const words = this.#words;
    for (let at = 0; at < words.length; at += 2) {
      const other = (words[at]! ^ low) | (words[at + 1]! ^ high);
      words[at]! &= other;
      words[at + 1]! &= other;
    }
  }

  #hash(n: number, element: Uint8Array): number {
    return murmur3((Math.imul(n, HASH_STEP) + this.#tweak) >>> 0, element);
  }

  /** The high bits of the hash select the pair of words, the low ones the bit within it. */
  #pairOf(hash: number): number {
    return Math.floor((hash * this.#words.length) / TWO_32) & ~1;
  }
}
