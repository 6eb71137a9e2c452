import type { Clock } from '../util/clock.ts';
import { BoundedMap } from './rate-limits.ts';

const MAX_ADDRESSES = 10_000;
const MINUTE_MS = 60_000;

/**
 * Limits the attempts to log in of each address in any minute, right and wrong ones alike. A refused attempt does not
 * count, so that a client which repeats it does not lock the address out.
 */
export class LoginAttempts {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #times = new BoundedMap<number[]>(MAX_ADDRESSES);

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** Counts an attempt and returns 0, or returns the seconds to wait. */
  add(address: string): number {
    const now = this.#clock.monotonicMs();
    const times = this.#times.getOrMake(address, () => []);
    while (times.length > 0 && now - times[0]! >= MINUTE_MS) times.shift();
    if (times.length >= this.#perMinute) return Math.max(1, Math.ceil((times[0]! + MINUTE_MS - now) / 1000));
    times.push(now);
    return 0;
  }
}
