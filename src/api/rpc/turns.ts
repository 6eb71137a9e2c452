import { fail } from '../errors.ts';

interface Caller {
  running: number;
  readonly waiting: (() => void)[];
}

/** How many requests of one key run at a time; a few more wait, the rest is refused. */
export class Turns {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #callers = new Map<string, Caller>();

  constructor(maxRunning: number, maxWaiting: number) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` when it is this caller's turn. Throws ApiError `rate_limited` when too many wait already. */
  async take<T>(id: string, work: () => Promise<T>): Promise<T> {
    let caller = this.#callers.get(id);
    if (!caller) this.#callers.set(id, (caller = { running: 0, waiting: [] }));
    if (caller.running >= this.#maxRunning) {
      if (caller.waiting.length >= this.#maxWaiting)
        fail('rate_limited', 'too many JSON-RPC requests at a time', { scope: 'rpc', retryAfter: 1 });
      const { waiting } = caller;
      // Whoever ends hands over its place, so the count stays.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else caller.running++;
    try {
      return await work();
    } finally {
      const next = caller.waiting.shift();
      if (next) next();
      else if (--caller.running === 0) this.#callers.delete(id);
    }
  }
}
