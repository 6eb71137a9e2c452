import { fail } from '../../http/errors.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';

interface Caller {
  running: number;
  readonly waiting: (() => void)[];
}

/** Slot of a running request. */
export interface QueueSlot {
  /** Gives the slot to another request of the caller while `wait` is pending, and acquires one again afterwards. */
  releaseDuring<T>(wait: () => Promise<T>): Promise<T>;
}

/** Bounds the running requests of each key. Some more wait in a queue, and further ones are refused. */
export class KeyQueue {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #callers = new Map<string, Caller>();

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` as soon as the key `id` has a free slot. Throws ApiError `rate_limited` if its queue is full. */
  run<T>(id: string, work: (turn: QueueSlot) => MaybePromise<T>): MaybePromise<T> {
    const others = this.#callers.get(id);
    if (others && others.running >= this.#maxRunning && others.waiting.length >= this.#maxWaiting)
      fail('rate_limited', 'too many JSON-RPC requests at a time', { scope: 'rpc', retryAfter: 1 });
    const waiting = this.#acquire(id);
    return waiting ? waiting.then(() => this.#runInSlot(id, work)) : this.#runInSlot(id, work);
  }

  #runInSlot<T>(id: string, work: (turn: QueueSlot) => MaybePromise<T>): MaybePromise<T> {
    let result: MaybePromise<T>;
    try {
      result = work({ releaseDuring: (wait) => this.#releaseDuring(id, wait) });
    } catch (error) {
      this.#release(id);
      throw error;
    }
    if (result instanceof Promise) return result.finally(() => this.#release(id));
    this.#release(id);
    return result;
  }

  async #releaseDuring<R>(id: string, wait: () => Promise<R>): Promise<R> {
    this.#release(id);
    try {
      return await wait();
    } finally {
      await this.#acquire(id);
    }
  }

  /** Acquires a slot; undefined if one is free at once. */
  #acquire(id: string): Promise<void> | undefined {
    let caller = this.#callers.get(id);
    if (!caller) this.#callers.set(id, (caller = { running: 0, waiting: [] }));
    if (caller.running < this.#maxRunning) {
      caller.running++;
      return undefined;
    }
    const { waiting } = caller;
    // A request that ends passes its slot on, so `running` stays the same.
    return new Promise((resolve) => waiting.push(resolve));
  }

  #release(id: string): void {
    const caller = this.#callers.get(id)!;
    const next = caller.waiting.shift();
    if (next) next();
    else if (--caller.running === 0) this.#callers.delete(id);
  }
}
