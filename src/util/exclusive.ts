interface Waiting {
  readonly start: () => void;
}

/** One work at a time, in the order in which they were asked for. */
export class Exclusive {
  readonly #maxWaiting: number;
  readonly #waiting: Waiting[] = [];
  #busy = false;

  /** Works that may wait; `run` refuses one more. */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  /** Whether `run` would refuse. */
  get full(): boolean {
    return this.#waiting.length >= this.#maxWaiting;
  }

  /**
   * Runs a work when none before it is left: at once where there is none. Rejects with the signal's reason when that aborts
   * before its turn. Throws where it is full.
   */
  async run<T>(work: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#busy) await this.#turn(signal);
    this.#busy = true;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next.start();
      else this.#busy = false;
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    if (this.full) throw new Error('too many works wait for their turn');
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
