import type { RandomBelow } from '../random-source.ts';

/** Core's ladder of feerates: steps of a tenth up to one coin per 1,000 virtual bytes. */
const SPACING = 1.1;
const LARGEST = 1e7;

/** Rounds the feerates we announce, a little at random, so that they do not tell one node from another (BIP-133). */
export class FeeFilterRounder {
  readonly #steps: number[] = [0];
  readonly #random: RandomBelow;

  /** `lowest` in satoshis per 1,000 virtual bytes. */
  constructor(lowest: number, random: RandomBelow) {
    this.#random = random;
    const start = Math.max(1, Math.floor(lowest / 2));
    for (let step = start; step <= LARGEST; step *= SPACING) this.#steps.push(step);
  }

  round(feerate: number): number {
    let at = this.#steps.findIndex((step) => step >= feerate);
    // Two times in three the lower one.
    if (at < 0 || (at > 0 && this.#random(3) !== 0)) at = (at < 0 ? this.#steps.length : at) - 1;
    return Math.trunc(this.#steps[at]!);
  }
}
