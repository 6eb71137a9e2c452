/** Seconds in which the minimum halves while the mempool is at least half full. */
const HALFLIFE_S = 60 * 60 * 12;
/** The minimum is brought up to date no more often. */
const UPDATE_INTERVAL_S = 10;

/**
 * What a transaction has to pay once others were dropped for want of room: a little more than they did, so that room
 * is not fought over for free. It fades when blocks come again.
 */
export class RollingMinimumFee {
  /** Satoshis per 1,000 virtual bytes. */
  readonly #increment: number;
  #feerate = 0;
  #updatedAt: number;
  #blockSinceRise = false;

  /** `now` in Unix seconds. */
  constructor(increment: number, now: number) {
    this.#increment = increment;
    this.#updatedAt = now;
  }

  /** Satoshis per 1,000 virtual bytes; 0 where there is no minimum. */
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

  /** Transactions of this fee (satoshis) and size (virtual bytes) together were dropped to make room. */
  dropped(fee: number, vsize: number): void {
    const feerate = Math.floor((fee * 1000) / vsize) + this.#increment;
    if (feerate <= this.#feerate) return;
    this.#feerate = feerate;
    this.#blockSinceRise = false;
  }

  blockArrived(now: number): void {
    this.#updatedAt = now;
    this.#blockSinceRise = true;
  }
}
