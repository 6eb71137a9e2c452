import type { Clock } from '../util/clock.ts';

export interface ValidationQueueDeps {
  /** Runs work when the chain is settled, then emits its changes. */
  readonly settled: <T>(work: () => T) => Promise<T>;
  readonly clock: Clock;
}

export interface ValidationQueueLimits {
  readonly count: number;
  readonly bytes: number;
}

/** Limits of the queue. They are only reached if peers send without waiting for answers. */
const VALIDATION_QUEUE_LIMITS: ValidationQueueLimits = { count: 2_000, bytes: 64 << 20 };
/** Time limit of one slice, milliseconds. */
const SLICE_MS = 10;

interface Job {
  readonly bytes: number;
  readonly run: () => void;
  readonly settle: () => void;
  readonly fail: (error: unknown) => void;
}

/**
 * A queue of validations of transactions from peers, in order. Each slice runs as many as its time allows, because
 * waiting for a settled chain before each one would cost more than the validation.
 */
export class ValidationQueue {
  readonly #deps: ValidationQueueDeps;
  readonly #limits: ValidationQueueLimits;
  #jobs: Job[] = [];
  #bytes = 0;
  #running = false;

  constructor(deps: ValidationQueueDeps, limits: ValidationQueueLimits = VALIDATION_QUEUE_LIMITS) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Number of queued validations. */
  get waiting(): number {
    return this.#jobs.length;
  }

  /**
   * Enqueues a validation of `bytes` bytes and resolves with its result. Resolves with null without running it if the
   * queue is full.
   */
  enqueue<T>(bytes: number, validate: () => T): Promise<T | null> {
    const { count, bytes: most } = this.#limits;
    if (this.#jobs.length >= count || this.#bytes + bytes > most) return Promise.resolve(null);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let outcome: { readonly value: T } | { readonly error: unknown };
    this.#bytes += bytes;
    this.#jobs.push({
      bytes,
      run: () => {
        try {
          outcome = { value: validate() };
        } catch (error) {
          outcome = { error };
        }
      },
      settle: () => ('error' in outcome ? reject(outcome.error) : resolve(outcome.value)),
      fail: reject,
    });
    if (!this.#running) void this.#runSlices();
    return promise;
  }

  async #runSlices(): Promise<void> {
    this.#running = true;
    // Validations enqueued in the same event loop turn share a slice.
    await Promise.resolve();
    while (this.#jobs.length > 0) {
      let done: readonly Job[] = [];
      try {
        await this.#deps.settled(() => (done = this.#runSlice()));
        for (const job of done) job.settle();
      } catch (error) {
        // The chain has stopped, so all waiting callers are rejected here.
        for (const job of [...done, ...this.#dequeue(this.#jobs.length)]) job.fail(error);
      }
      await new Promise(setImmediate);
    }
    this.#running = false;
  }

  #runSlice(): readonly Job[] {
    const { clock } = this.#deps;
    const startedAt = clock.monotonicMs();
    let count = 0;
    for (const job of this.#jobs) {
      job.run();
      count++;
      if (clock.monotonicMs() - startedAt >= SLICE_MS) break;
    }
    return this.#dequeue(count);
  }

  #dequeue(count: number): readonly Job[] {
    const removed = this.#jobs.slice(0, count);
    this.#jobs = this.#jobs.slice(count);
    for (const { bytes } of removed) this.#bytes -= bytes;
    return removed;
  }
}
