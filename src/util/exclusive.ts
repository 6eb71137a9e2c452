interface Waiting {
  readonly start: () => void;
}

/** Runs one task at a time, in the order of the calls. */
export class Exclusive {
  readonly #maxWaiting: number;
  readonly #waiting: Waiting[] = [];
  #busy = false;

  /** `maxWaiting`: tasks that may wait; `run` throws on one more. */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Whether `run` would throw. */
  get full(): boolean {
    return this.#waiting.length >= this.#maxWaiting;
  }

  /**
   * Runs a task after all earlier ones; at once if there are none. Rejects with the signal's reason if it aborts before
   * the task starts. Throws if too many tasks wait.
   */
  async run<T>(task: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#busy) await this.#waitForStart(signal);
    this.#busy = true;
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next.start();
      else this.#busy = false;
    }
  }

  #waitForStart(signal: AbortSignal): Promise<void> {
    if (this.full) throw new Error('too many tasks are waiting');
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        start: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
      };
      this.#waiting.push(waiting);
      signal.addEventListener('abort', abort, { once: true });
    });
  }
}
