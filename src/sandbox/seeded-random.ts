import { sha256 } from '../crypto/hash-functions.ts';
import { assert } from '../util/assert.ts';
import { concatBytes } from '../util/bytes.ts';

/** Pseudorandom numbers that depend only on a seed. */
export class SeededRandom {
  readonly #seed: Uint8Array;
  #counter = 0;

  constructor(seed: Uint8Array) {
    this.#seed = seed;
  }

  /** Returns a number from 0 up to, but not including, 1. */
  fraction(): number {
    const counter = new Uint8Array(4);
    const view = new DataView(counter.buffer);
    view.setUint32(0, this.#counter++, true);
    const digest = sha256(concatBytes(this.#seed, counter));
    return new DataView(digest.buffer).getUint32(0, true) / 0x1_0000_0000;
  }

  /** Returns an integer from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    assert(items.length > 0, 'something to pick from');
    return items[this.between(0, items.length - 1)]!;
  }

  /** Returns a shuffled copy. */
  shuffled<T>(items: readonly T[]): T[] {
    const copy = [...items];
    for (let i = copy.length - 1; i > 0; i--) {
      const j = this.between(0, i);
      [copy[i], copy[j]] = [copy[j]!, copy[i]!];
    }
    return copy;
  }
}
