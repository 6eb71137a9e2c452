import {
  BoundedMap,
  type FailureCounts,
  FailureTable,
  type RateBucket,
  type RateBuckets,
  TokenBucket,
} from '../../auth/rate-limits.ts';
import type { Rate } from '../../http/options.ts';
import type { Clock } from '../../util/clock.ts';

/** Buckets of keys, and of addresses. The bucket that was used least recently is filled again at the limit. */
const MAX_BUCKETS = 16_384;
/** Names whose consumption waits for a batch. That of further names is not passed on. */
const MAX_PENDING = 10_000;
/** Names in one batch; further ones wait for the next. */
const MAX_BATCH = 2000;
/** Consumption that is older is not passed on, milliseconds, so that an outage of the database leaves no debt. */
export const MAX_CHARGE_AGE_MS = 10_000;
/** Time for which the number of a server's last batch is kept, milliseconds: longer than any batch is read. */
const MAX_SILENCE_MS = 60_000;

/** The consumption of one server, for the other servers. */
export interface RateBatch {
  /** Numbers of one server grow. A batch that is sent again has the same number and content. */
  readonly number: number;
  readonly charges: string;
}

/** A batch of another server. */
export interface ForeignBatch extends RateBatch {
  readonly server: string;
}

interface Charge {
  readonly name: string;
  readonly rate: Rate;
  cost: number;
}

interface Content {
  readonly charges: readonly (readonly [name: string, perSecond: number, burst: number, cost: number])[];
  readonly failures: readonly (readonly [address: string, count: number])[];
}

/**
 * Rate limits of one server that others share. A request is charged to the bucket of this server at once. The consumption
 * goes to the other servers in numbered batches, and each server subtracts those of the others once.
 */
export class ExchangedRates {
  readonly buckets: RateBuckets = { bucket: (name, rate) => this.#handleOf(name, rate) };
  readonly failures: FailureCounts = { record: (address) => this.#recordFailure(address) };
  readonly #clock: Clock;
  readonly #allowedFailures: number;
  readonly #failureTable: FailureTable;
  readonly #ofKeys = new BoundedMap<TokenBucket>(MAX_BUCKETS);
  readonly #ofAddresses = new BoundedMap<TokenBucket>(MAX_BUCKETS);
  readonly #charges = new Map<string, Charge>();
  readonly #pendingFailures = new Map<string, number>();
  /** When the oldest pending consumption was recorded, and that of the batch; monotonic, milliseconds. */
  #pendingSince: number | null = null;
  #batchSince = 0;
  /** The batch that was not acknowledged yet. */
  #batch: RateBatch | null = null;
  #lastNumber = 0;
  #unshared = 0;
  readonly #seen = new Map<string, { readonly number: number; readonly at: number }>();

  constructor(authFailuresPerMinute: number, clock: Clock) {
    this.#clock = clock;
    this.#allowedFailures = authFailuresPerMinute;
    this.#failureTable = new FailureTable(authFailuresPerMinute, clock);
  }

  /** Number of charges and failures that were not passed on: too many names, or an outage of the database. */
  get unshared(): number {
    return this.#unshared;
  }

  /** Returns the batch to send, the same one until it is acknowledged; null without consumption. */
  nextBatch(): RateBatch | null {
    const now = this.#clock.monotonicMs();
    if (this.#batch && now - this.#batchSince > MAX_CHARGE_AGE_MS) {
      this.#batch = null;
      this.#unshared++;
    }
    if (this.#pendingSince !== null && now - this.#pendingSince > MAX_CHARGE_AGE_MS) this.#dropPending();
    if (this.#batch === null && this.#pendingSince !== null) this.#makeBatch(this.#pendingSince);
    return this.#batch;
  }

  /** Must be called when the batch of a number is stored. */
  acknowledge(number: number): void {
    if (this.#batch?.number === number) this.#batch = null;
  }

  /** Returns the numbers of the last batches of other servers. */
  seen(): { readonly server: string; readonly number: number }[] {
    const now = this.#clock.monotonicMs();
    for (const [server, { at }] of this.#seen) if (now - at > MAX_SILENCE_MS) this.#seen.delete(server);
    return [...this.#seen].map(([server, { number }]) => ({ server, number }));
  }

  /** Subtracts a batch of another server, unless it was subtracted before. Batches of one server come in their order. */
  apply({ server, number, charges }: ForeignBatch): void {
    if (number <= (this.#seen.get(server)?.number ?? 0)) return;
    this.#seen.set(server, { number, at: this.#clock.monotonicMs() });
    const content = readContent(charges);
    for (const [name, perSecond, burst, cost] of content.charges)
      this.#bucketOf(name, { perSecond, burst }).drain(cost);
    for (const [address, count] of content.failures)
      for (let i = 0; i < Math.min(count, this.#allowedFailures); i++) this.#failureTable.record(address);
  }

  #handleOf(name: string, rate: Rate): RateBucket {
    // The bucket of the name is looked up each time: it may have been filled again meanwhile.
    const bucket = () => this.#bucketOf(name, rate);
    return {
      rate,
      consume: (cost) => {
        const isConsumed = bucket().consume(cost);
        if (isConsumed) this.#recordCharge(name, rate, cost);
        return isConsumed;
      },
      get remaining() {
        return bucket().remaining;
      },
      retryAfter: (cost) => bucket().retryAfter(cost),
      get resetAfter() {
        return bucket().resetAfter;
      },
    };
  }

  #bucketOf(name: string, rate: Rate): TokenBucket {
    // Many addresses do not fill the buckets of keys again.
    const buckets = name.startsWith('key ') ? this.#ofKeys : this.#ofAddresses;
    return buckets.getOrMake(bucketName(name, rate), () => new TokenBucket(rate, this.#clock));
  }

  #recordCharge(name: string, rate: Rate, cost: number): void {
    const key = bucketName(name, rate);
    const known = this.#charges.get(key);
    if (known) known.cost += cost;
    else if (this.#charges.size >= MAX_PENDING) this.#unshared++;
    else this.#charges.set(key, { name, rate, cost });
    this.#pendingSince ??= this.#clock.monotonicMs();
  }

  #recordFailure(address: string): number {
    const known = this.#pendingFailures.get(address) ?? 0;
    if (known === 0 && this.#pendingFailures.size >= MAX_PENDING) this.#unshared++;
    else this.#pendingFailures.set(address, known + 1);
    this.#pendingSince ??= this.#clock.monotonicMs();
    return this.#failureTable.record(address);
  }

  #makeBatch(since: number): void {
    const charges = [...this.#charges].slice(0, MAX_BATCH);
    const failures = [...this.#pendingFailures].slice(0, MAX_BATCH);
    for (const [key] of charges) this.#charges.delete(key);
    for (const [address] of failures) this.#pendingFailures.delete(address);
    const content: Content = {
      charges: charges.map(([, { name, rate, cost }]) => [name, rate.perSecond, rate.burst, cost]),
      failures,
    };
    this.#batch = { number: ++this.#lastNumber, charges: JSON.stringify(content) };
    this.#batchSince = since;
    const hasMore = this.#charges.size > 0 || this.#pendingFailures.size > 0;
    this.#pendingSince = hasMore ? since : null;
  }

  #dropPending(): void {
    this.#unshared += this.#charges.size + this.#pendingFailures.size;
    this.#charges.clear();
    this.#pendingFailures.clear();
    this.#pendingSince = null;
  }
}

function bucketName(name: string, { perSecond, burst }: Rate): string {
  return `${name} ${perSecond} ${burst}`;
}

/** Returns an empty content for a text that no server of this version wrote. */
function readContent(text: string): Content {
  const nothing: Content = { charges: [], failures: [] };
  try {
    const { charges, failures } = JSON.parse(text) as Content;
    const isCount = (value: number) => Number.isFinite(value) && value > 0;
    const isRight =
      charges.every(
        ([name, ...numbers]) => typeof name === 'string' && numbers.length === 3 && numbers.every(isCount),
      ) && failures.every(([address, count]) => typeof address === 'string' && isCount(count));
    return isRight ? { charges, failures } : nothing;
  } catch {
    return nothing;
  }
}
