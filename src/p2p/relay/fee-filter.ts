import type { RandomBelow } from '../../util/random.ts';

/** Buckets of Core's FeeFilterRounder: 10 % apart, up to 1e7 satoshis per 1,000 virtual bytes. */
const SPACING = 1.1;
const LARGEST = 1e7;

/** Rounds announced feerates to buckets with some randomness, so that they do not fingerprint the node (BIP-133). */
export class FeeFilterRounder {
  readonly #steps: number[] = [0];
  readonly #random: RandomBelow;

  /** `lowest` is the lowest feerate of interest, satoshis per 1,000 virtual bytes. */
  constructor(lowest: number, random: RandomBelow) {
    this.#random = random;
    const start = Math.max(1, Math.floor(lowest / 2));
    for (let step = start; step <= LARGEST; step *= SPACING) this.#steps.push(step);
  }

  round(feerate: number): number {
    let at = this.#steps.findIndex((step) => step >= feerate);
    // Rounds down with probability 2/3.
    if (at < 0 || (at > 0 && this.#random(3) !== 0)) at = (at < 0 ? this.#steps.length : at) - 1;
    return Math.trunc(this.#steps[at]!);
  }
}
