import { fail } from '../../http/errors.ts';
import type { ApiOptions } from '../../http/options.ts';
import type { Counts } from '../../util/counts.ts';
import type { MaybePromise } from '../../util/maybe-promise.ts';

/** The limits of each key, which can change. */
type QueueLimits = Pick<ApiOptions['limits'], 'rpcMaxRunning' | 'rpcMaxQueued'>;

interface Caller {
  running: number;
  readonly waiting: (() => void)[];
}

/** Slot of a running request. */
export interface QueueSlot {
  /** Gives the slot to another request of the caller while `wait` is pending, and acquires one again afterwards. */
  releaseDuring<T>(wait: () => Promise<T>): Promise<T>;
}

/** Interval at which a front that waits for a slot of other fronts tries again, milliseconds. */
const RETRY_MS = 2;

/**
 * Bounds the running requests of each key. Some more wait in a queue, and further ones are refused. Fronts share the
 * counts of both.
 */
export class KeyQueue {
  readonly #limits: QueueLimits;
  readonly #shared: Counts | null;
  readonly #callers = new Map<string, Caller>();
  #retry: ReturnType<typeof setTimeout> | null = null;

  /** `shared` is null with one front. */
  constructor(limits: QueueLimits, shared: Counts | null = null) {
    this.#limits = limits;
    this.#shared = shared;
  }

  /** Runs `work` as soon as the key `id` has a free slot. Throws ApiError `rate_limited` if its queue is full. */
  run<T>(id: string, work: (turn: QueueSlot) => MaybePromise<T>): MaybePromise<T> {
    const waiting = this.#acquire(id, this.#limits.rpcMaxQueued);
    return waiting ? waiting.then(() => this.#runInSlot(id, work)) : this.#runInSlot(id, work);
  }

  /**
   * Whether a request of the key would begin at once, on any front. It is for replies that are sent at once: they take no
   * slot, since they would release it before any other request of this front begins.
   */
  hasFreeSlot(id: string): boolean {
    if ((this.#callers.get(id)?.running ?? 0) >= this.#limits.rpcMaxRunning) return false;
    return this.#shared === null || this.#shared.get(runningName(id)) < this.#limits.rpcMaxRunning;
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
      await this.#acquire(id, Number.POSITIVE_INFINITY);
    }
  }

  /** Acquires a slot; undefined if one is free at once. Throws ApiError if `maxWaiting` requests wait already. */
  #acquire(id: string, maxWaiting: number): Promise<void> | undefined {
    let caller = this.#callers.get(id);
    if (!caller) this.#callers.set(id, (caller = { running: 0, waiting: [] }));
    if (this.#start(id, caller)) return undefined;
    const { waiting } = caller;
    const fits = this.#shared ? this.#shared.add(waitingName(id), maxWaiting) : waiting.length < maxWaiting;
    // A request that has begun waits for its slot even where the shared table has no row for it.
    if (!fits && maxWaiting !== Number.POSITIVE_INFINITY) {
      this.#forgetIdle(id, caller);
      fail('rate_limited', 'too many JSON-RPC requests at a time', { scope: 'rpc', retryAfter: 1 });
    }
    if (this.#shared) this.#retry ??= setTimeout(() => this.#startWaiting(), RETRY_MS);
    return new Promise((resolve) => waiting.push(resolve));
  }

  /** Counts another running request, unless that exceeds the limit. */
  #start(id: string, caller: Caller): boolean {
    if (caller.running >= this.#limits.rpcMaxRunning) return false;
    if (this.#shared && !this.#shared.add(runningName(id), this.#limits.rpcMaxRunning)) return false;
    caller.running++;
    return true;
  }

  #release(id: string): void {
    const caller = this.#callers.get(id)!;
    // A request that ends passes its slot on, so `running` stays the same. Slots that other fronts wait for are free to
    // all of them, and one above a limit that was lowered ends.
    const othersWait = this.#shared !== null && this.#shared.get(waitingName(id)) > caller.waiting.length;
    if (caller.waiting.length > 0 && !othersWait && caller.running <= this.#limits.rpcMaxRunning) {
      this.#wake(id, caller);
      return;
    }
    caller.running--;
    this.#shared?.subtract(runningName(id));
    this.#forgetIdle(id, caller);
  }

  #wake(id: string, { waiting }: Caller): void {
    this.#shared?.subtract(waitingName(id));
    waiting.shift()!();
  }

  /** Starts waiting requests with slots that other fronts have released. */
  #startWaiting(): void {
    this.#retry = null;
    let isWaiting = false;
    for (const [id, caller] of this.#callers) {
      while (caller.waiting.length > 0 && this.#start(id, caller)) this.#wake(id, caller);
      isWaiting ||= caller.waiting.length > 0;
    }
    if (isWaiting) this.#retry = setTimeout(() => this.#startWaiting(), RETRY_MS);
  }

  #forgetIdle(id: string, { running, waiting }: Caller): void {
    if (running === 0 && waiting.length === 0) this.#callers.delete(id);
  }
}

function runningName(id: string): string {
  return `rpc running ${id}`;
}

function waitingName(id: string): string {
  return `rpc waiting ${id}`;
}
