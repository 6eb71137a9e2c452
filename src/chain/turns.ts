import type { Log } from '../util/log.ts';

/** Why a call was given up: no fault of the block it is about. */
export class ChainClosing extends Error {
  constructor() {
    super('the chain is being closed');
  }
}

/**
 * Carries out calls one after another. Whatever is thrown in one is a failing disk or a fault of ours: what was committed
 * stands, and no more is taken.
 */
export class SerialQueue {
  readonly #log: Log;
  readonly #advice: (error: Error) => string | null;
  #queue: Promise<unknown> = Promise.resolve();
  #running = false;
  #stopped: Error | null = null;
  #closing = false;
  /** Ends the wait that is going on. */
  #interrupt: ((reason: Error) => void) | null = null;

  /** `advice` is what an operator can do about an error, or null. */
  constructor(log: Log, advice: (error: Error) => string | null = () => null) {
    this.#log = log;
    this.#advice = advice;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Why nothing more is taken, or null. */
  get stopped(): Error | null {
    return this.#stopped;
  }

  run<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(async () => {
      if (this.#stopped) throw this.#stopped;
      this.#running = true;
      try {
        return await run();
      } catch (error) {
        if (error instanceof ChainClosing) throw error;
        this.#stopped = error instanceof Error ? error : new Error(String(error));
        const advice = this.#advice(this.#stopped);
        this.#log.error('no more blocks are taken', { error: this.#stopped, ...(advice !== null && { advice }) });
        throw this.#stopped;
      } finally {
        this.#running = false;
      }
    });
    this.#queue = result.catch(() => {});
    return result;
  }

  /** Waits within a turn. Rejects with ChainClosing when the chain is closed meanwhile, or was and it is not `ready`. */
  async waitFor(done: Promise<void>, ready: boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    done.then(resolve, reject);
    if (this.#closing && !ready) reject(new ChainClosing());
    else this.#interrupt = reject;
    await promise.finally(() => (this.#interrupt = null));
  }

  /** From now on turns end where they would have to wait. */
  interrupt(): void {
    this.#closing = true;
    this.#interrupt?.(new ChainClosing());
  }

  /** No turn is taken any more. */
  close(): void {
    this.#stopped ??= new Error('the chain is closed');
  }
}
