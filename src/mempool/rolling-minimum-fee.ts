/** Halving time of the minimum while the mempool is at least half full, seconds. */
const HALFLIFE_S = 60 * 60 * 12;
/** Minimum interval between two updates of the minimum, seconds. */
const UPDATE_INTERVAL_S = 10;

/**
 * Core's rolling minimum feerate: after an eviction, transactions must pay more than those evicted, so that a full
 * mempool cannot be churned for free. It decays once blocks are connected again.
 */
export class RollingMinimumFee {
  /** Satoshis per 1,000 virtual bytes. */
  readonly #increment: number;
  #feerate = 0;
  #updatedAt: number;
  #blockSinceRise = false;

  /** `increment` in satoshis per 1,000 virtual bytes; `now` in Unix seconds. */
  constructor(increment: number, now: number) {
    this.#increment = increment;
    this.#updatedAt = now;
  }

  /** Returns satoshis per 1,000 virtual bytes; 0 if there is no minimum. */
  feerate(usage: number, limit: number, now: number): number {
    if (!this.#blockSinceRise || this.#feerate === 0) return Math.round(this.#feerate);
    if (now > this.#updatedAt + UPDATE_INTERVAL_S) {
      const halflife = usage < limit / 4 ? HALFLIFE_S / 4 : usage < limit / 2 ? HALFLIFE_S / 2 : HALFLIFE_S;
      this.#feerate /= 2 ** ((now - this.#updatedAt) / halflife);
      this.#updatedAt = now;
      if (this.#feerate < this.#increment / 2) {
        this.#feerate = 0;
        return 0;
      }
    }
    return Math.max(Math.round(this.#feerate), this.#increment);
  }

  /** Raises the minimum after an eviction of this fee (satoshis) and size (virtual bytes). */
  recordEviction(fee: number, vsize: number): void {
    const feerate = Math.floor((fee * 1000) / vsize) + this.#increment;
    if (feerate <= this.#feerate) return;
    this.#feerate = feerate;
    this.#blockSinceRise = false;
  }

  onBlockConnected(now: number): void {
    this.#updatedAt = now;
    this.#blockSinceRise = true;
  }
}
