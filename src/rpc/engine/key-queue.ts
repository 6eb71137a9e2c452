import { fail } from '../../http/errors.ts';

interface Caller {
  running: number;
  readonly waiting: (() => void)[];
}

/** The place of a request that runs. */
export interface QueueSlot {
  /** Lets another request of the caller run while this one waits for something else. */
  releaseDuring<T>(wait: () => Promise<T>): Promise<T>;
}

/** How many requests of one key run at a time; a few more wait, the rest is refused. */
export class KeyQueue {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #callers = new Map<string, Caller>();

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` when it is this caller's turn. Throws ApiError `rate_limited` when too many wait already. */
  async run<T>(id: string, work: (turn: QueueSlot) => Promise<T>): Promise<T> {
    const others = this.#callers.get(id);
    if (others && others.running >= this.#maxRunning && others.waiting.length >= this.#maxWaiting)
      fail('rate_limited', 'too many JSON-RPC requests at a time', { scope: 'rpc', retryAfter: 1 });
    const place = this.#begin(id);
    if (place) await place;
    const releaseDuring = async <R>(wait: () => Promise<R>): Promise<R> => {
      this.#end(id);
      try {
        return await wait();
      } finally {
        await this.#begin(id);
      }
    };
    try {
      return await work({ releaseDuring });
    } finally {
      this.#end(id);
    }
  }

  /** Takes a place; undefined where there is one at once. */
  #begin(id: string): Promise<void> | undefined {
    let caller = this.#callers.get(id);
    if (!caller) this.#callers.set(id, (caller = { running: 0, waiting: [] }));
    if (caller.running < this.#maxRunning) {
      caller.running++;
      return undefined;
    }
    const { waiting } = caller;
    // Whoever ends hands over its place, so the count stays.
    return new Promise((resolve) => waiting.push(resolve));
  }

  #end(id: string): void {
    const caller = this.#callers.get(id)!;
    const next = caller.waiting.shift();
    if (next) next();
    else if (--caller.running === 0) this.#callers.delete(id);
  }
}
