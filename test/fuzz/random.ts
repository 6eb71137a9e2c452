/** Generates the same numbers for the same seed on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  u32(): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** Returns an integer from 0 to below `below`. */
  int(below: number): number {
    return below <= 1 ? 0 : Math.floor((this.u32() / 2 ** 32) * below);
  }

  /** Returns true with probability 1 / `times`. */
  once(times: number): boolean {
    return this.int(times) === 0;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)]!;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.u32();
    return bytes;
  }

  /** Returns a length up to `most`; short ones are more likely. */
  length(most: number): number {
    return this.int(this.int(this.int(most + 1) + 1) + 1);
  }
}

/** Returns a number that depends on all arguments: the seed of one case of a run. */
export function mixed(...numbers: readonly number[]): number {
  let state = 0x9e37_79b9;
  for (const number of numbers) {
    state = Math.imul(state ^ number, 0x85eb_ca6b);
    state ^= state >>> 13;
    state = Math.imul(state, 0xc2b2_ae35);
    state ^= state >>> 16;
  }
  return state >>> 0;
}

/** Returns a seed that depends on every byte, so that the randomness of a target is a function of its input. */
export function seedOf(input: Uint8Array): number {
  return Bun.hash.crc32(input);
}
