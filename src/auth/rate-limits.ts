import type { Rate } from '../http/options.ts';
import type { Clock } from '../util/clock.ts';

/** Allows `perSecond` on average and `burst` at once. */
export interface RateBucket {
  readonly rate: Rate;
  /**
   * Consumes `cost` tokens and returns true, or consumes none and returns false. A cost above the burst passes when the
   * bucket is full, and leaves a debt.
   */
  consume(cost: number): boolean;
  /** Whole tokens that are left, at least 0. */
  readonly remaining: number;
  /** Returns whole seconds, at least 1, until `cost` tokens are available. */
  retryAfter(cost: number): number;
  /** Whole seconds until the bucket is full. */
  readonly resetAfter: number;
}

/** Token buckets by name. */
export interface RateBuckets {
  /** Returns the bucket of a name. Buckets of one name with different rates are independent. */
  bucket(name: string, rate: Rate, clock: Clock): RateBucket;
}

/** The bucket of a server with one front. */
export class TokenBucket implements RateBucket {
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

  consume(cost: number): boolean {
    this.#refill();
    if (this.#tokens < Math.min(cost, this.rate.burst)) return false;
    this.#tokens -= cost;
    return true;
  }

  /** Removes tokens that were consumed elsewhere, which may leave a debt. */
  drain(cost: number): void {
    this.#refill();
    this.#tokens -= cost;
  }

  get remaining(): number {
    this.#refill();
    return Math.max(0, Math.floor(this.#tokens));
  }

  retryAfter(cost: number): number {
    this.#refill();
    return Math.max(1, Math.ceil((Math.min(cost, this.rate.burst) - this.#tokens) / this.rate.perSecond));
  }

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

/** A Map that drops its least recently used entry at a limit, so that clients cannot make it grow. */
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

/** Counts failed authentications per address. */
export interface FailureCounts {
  /** Counts one failure. Returns the seconds to wait when the last minute has too many, else 0. */
  record(key: string): number;
}

/** Counts the events of each address in any minute. */
export class MinuteTable {
  readonly #allowed: number;
  readonly #clock: Clock;
  readonly #times = new BoundedMap<number[]>(MAX_ADDRESSES);

  constructor(allowedPerMinute: number, clock: Clock) {
    this.#allowed = allowedPerMinute;
    this.#clock = clock;
  }

  /**
   * Counts an event and returns 0, or returns the seconds to wait if the last minute has too many. Such an event is counted
   * only with `countsRefused`, so that without it a client that repeats a refused attempt does not lock its address out.
   */
  count(address: string, { countsRefused }: { countsRefused: boolean }): number {
    const now = this.#clock.monotonicMs();
    const times = this.#times.getOrMake(address, () => []);
    while (times.length > 0 && now - times[0]! >= MINUTE_MS) times.shift();
    const over = times.length >= this.#allowed;
    if (over && countsRefused) times.shift();
    if (!over || countsRefused) times.push(now);
    return over ? Math.max(1, Math.ceil((times[0]! + MINUTE_MS - now) / 1000)) : 0;
  }
}

/** The counts of a server with one front. */
export class FailureTable implements FailureCounts {
  readonly #failures: MinuteTable;

  constructor(allowedPerMinute: number, clock: Clock) {
    this.#failures = new MinuteTable(allowedPerMinute, clock);
  }

  record(key: string): number {
    return this.#failures.count(key, { countsRefused: true });
  }
}

/** A token bucket per address. */
export class RateTable {
  readonly rate: Rate;
  readonly #clock: Clock;
  readonly #buckets = new BoundedMap<TokenBucket>(MAX_ADDRESSES);

  constructor(rate: Rate, clock: Clock) {
    this.rate = rate;
    this.#clock = clock;
  }

  bucket(key: string): TokenBucket {
    return this.#buckets.getOrMake(key, () => new TokenBucket(this.rate, this.#clock));
  }
}
