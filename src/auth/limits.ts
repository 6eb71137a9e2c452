import type { Rate } from '../http/options.ts';
import type { Clock } from '../util/clock.ts';

/** Allows `perSecond` on average and `burst` at once. */
export class TokenBucket {
  readonly rate: Rate;
  readonly #clock: Clock;
  #tokens: number;
  #at: number;

  constructor(rate: Rate, clock: Clock) {
    this.rate = rate;
    this.#clock = clock;
    this.#tokens = rate.burst;
    this.#at = clock.monotonicMs();
  }

  /** Takes `cost`, or nothing and returns false. One cost above the burst passes on a full bucket and leaves a debt. */
  take(cost: number): boolean {
    this.#refill();
    if (this.#tokens < Math.min(cost, this.rate.burst)) return false;
    this.#tokens -= cost;
    return true;
  }

  get remaining(): number {
    this.#refill();
    return Math.max(0, Math.floor(this.#tokens));
  }

  /** Whole seconds, at least 1, until `cost` may be taken. */
  retryAfter(cost: number): number {
    this.#refill();
    return Math.max(1, Math.ceil((Math.min(cost, this.rate.burst) - this.#tokens) / this.rate.perSecond));
  }

  /** Whole seconds until the bucket is full again. */
  get resetAfter(): number {
    this.#refill();
    return Math.ceil((this.rate.burst - this.#tokens) / this.rate.perSecond);
  }

  #refill(): void {
    const now = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.rate.burst, this.#tokens + ((now - this.#at) / 1000) * this.rate.perSecond);
    this.#at = now;
  }
}

/** A Map that forgets what was used longest ago, so that strangers cannot make it grow. */
export class BoundedMap<V> {
  readonly #max: number;
  readonly #map = new Map<string, V>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#map.size;
  }

  getOrMake(key: string, make: () => V): V {
    let value = this.#map.get(key);
    if (value !== undefined) this.#map.delete(key);
    else value = make();
    this.#map.set(key, value);
    if (this.#map.size > this.#max) this.#map.delete(this.#map.keys().next().value!);
    return value;
  }
}

const MAX_ADDRESSES = 10_000;
const MINUTE_MS = 60_000;

/** Counts failed authentications by address. */
export class FailureTable {
  readonly #allowed: number;
  readonly #clock: Clock;
  readonly #times = new BoundedMap<number[]>(MAX_ADDRESSES);

  constructor(allowedPerMinute: number, clock: Clock) {
    this.#allowed = allowedPerMinute;
    this.#clock = clock;
  }

  /** Counts one more. Returns 0, or once a minute holds too many the seconds to wait. */
  record(key: string): number {
    const now = this.#clock.monotonicMs();
    const times = this.#times.getOrMake(key, () => []);
    while (times.length > 0 && now - times[0]! >= MINUTE_MS) times.shift();
    const over = times.length >= this.#allowed;
    if (over) times.shift();
    times.push(now);
    return over ? Math.max(1, Math.ceil((times[0]! + MINUTE_MS - now) / 1000)) : 0;
  }
}

/** A bucket for each address. */
export class RateTable {
  readonly #rate: Rate;
  readonly #clock: Clock;
  readonly #buckets = new BoundedMap<TokenBucket>(MAX_ADDRESSES);

  constructor(rate: Rate, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  bucket(key: string): TokenBucket {
    return this.#buckets.getOrMake(key, () => new TokenBucket(this.#rate, this.#clock));
  }
}
