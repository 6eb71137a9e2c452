import type { Rate } from '../http/options.ts';
import { acrossThreadsMs, type Clock } from '../util/clock.ts';
import { SharedTable } from '../util/shared-table.ts';
import type { FailureCounts, RateBucket, RateBuckets } from './rate-limits.ts';

/** 16,384 names. In a full set of eight the bucket that was used least recently is filled again. */
const BUCKET_SIZES = { sets: 2048, fields: 2 } as const;

/** Token buckets by name that threads share. */
export class SharedBuckets implements RateBuckets {
  readonly #table: SharedTable;

  constructor(shared?: SharedArrayBuffer) {
    this.#table = new SharedTable(BUCKET_SIZES, shared);
  }

  get shared(): SharedArrayBuffer {
    return this.#table.shared;
  }

  bucket(name: string, rate: Rate, clock: Clock): RateBucket {
    return new SharedBucket(this.#table, `${name} ${rate.perSecond} ${rate.burst}`, rate, clock);
  }
}

/** A token bucket in shared memory; see TokenBucket. Its row holds the time of the last change, and the tokens then. */
class SharedBucket implements RateBucket {
  readonly rate: Rate;
  readonly #table: SharedTable;
  readonly #name: string;
  readonly #clock: Clock;

  constructor(table: SharedTable, name: string, rate: Rate, clock: Clock) {
    this.#table = table;
    this.#name = name;
    this.rate = rate;
    this.#clock = clock;
  }

  consume(cost: number): boolean {
    return this.#change((tokens) => (tokens < Math.min(cost, this.rate.burst) ? null : tokens - cost)) !== null;
  }

  get remaining(): number {
    return Math.max(0, Math.floor(this.#tokens));
  }

  retryAfter(cost: number): number {
    return Math.max(1, Math.ceil((Math.min(cost, this.rate.burst) - this.#tokens) / this.rate.perSecond));
  }

  get resetAfter(): number {
    return Math.ceil((this.rate.burst - this.#tokens) / this.rate.perSecond);
  }

  get #tokens(): number {
    return this.#change((tokens) => tokens)!;
  }

  /** Replaces the number of tokens by a new one; null leaves it. */
  #change(next: (tokens: number) => number | null): number | null {
    const { perSecond, burst } = this.rate;
    // A row whose time is zero is new.
    const now = Math.max(1, acrossThreadsMs(this.#clock.monotonicMs()));
    const at = this.#table.acquire(this.#name, true);
    const { values } = this.#table;
    const before = values[at]!;
    const tokens =
      before === 0 ? burst : Math.min(burst, values[at + 1]! + (Math.max(0, now - before) / 1000) * perSecond);
    const changed = next(tokens);
    values[at] = Math.max(now, before);
    values[at + 1] = changed ?? tokens;
    this.#table.release();
    return changed;
  }
}

/** Parts of the minute that are counted separately. */
const PARTS = 12;
const PART_MS = 60_000 / PARTS;
const FAILURE_SIZES = { sets: 2048, fields: 1 + PARTS } as const;

/**
 * Failed authentications per address that threads share. They are counted in parts of five seconds, so a failure is
 * forgotten after 55 to 60 seconds.
 */
export class SharedFailures implements FailureCounts {
  readonly #table: SharedTable;
  readonly #allowed: number;
  readonly #clock: Clock;

  constructor(allowedPerMinute: number, clock: Clock, shared?: SharedArrayBuffer) {
    this.#allowed = allowedPerMinute;
    this.#clock = clock;
    this.#table = new SharedTable(FAILURE_SIZES, shared);
  }

  get shared(): SharedArrayBuffer {
    return this.#table.shared;
  }

  record(key: string): number {
    const now = acrossThreadsMs(this.#clock.monotonicMs());
    // A row whose part is zero is new.
    const part = PARTS + Math.floor(now / PART_MS);
    const at = this.#table.acquire(key, true);
    const { values } = this.#table;
    const last = values[at]!;
    for (let old = Math.max(last + 1, part - PARTS + 1); old <= part; old++) values[at + 1 + (old % PARTS)] = 0;
    values[at] = Math.max(last, part);
    let count = 0;
    let oldest = part;
    for (let each = part; each > part - PARTS; each--) {
      const failures = values[at + 1 + (each % PARTS)]!;
      count += failures;
      if (failures > 0) oldest = each;
    }
    values[at + 1 + (part % PARTS)]! += 1;
    this.#table.release();
    if (count < this.#allowed) return 0;
    return Math.max(1, Math.ceil(((oldest - PARTS) * PART_MS + 60_000 - now) / 1000));
  }
}
