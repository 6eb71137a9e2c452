/** Rejects a call that would have had to wait after `interrupt`. The call itself did nothing wrong. */
export class QueueClosing extends Error {
  override readonly name = 'QueueClosing';
}

/**
 * Runs asynchronous calls one after another, in the order in which they were made. An exception in one of them closes
 * the queue: all later calls reject with it.
 */
export class SerialQueue {
  readonly #owner: string;
  readonly #onFailure: (error: Error) => void;
  #last: Promise<unknown> = Promise.resolve();
  #running = false;
  #stopped: Error | null = null;
  #closing = false;
  /** Rejects the `waitFor` of the running call. */
  #rejectWait: ((reason: Error) => void) | null = null;

  /** `owner` names the queue in errors, as "the chain". `onFailure` is called with the exception that closes it. */
  constructor(owner: string, onFailure: (error: Error) => void) {
    this.#owner = owner;
    this.#onFailure = onFailure;
  }

  /** Whether a call is running. */
  get running(): boolean {
    return this.#running;
  }

  /** The reason why no more calls run; null while the queue is open. */
  get stopped(): Error | null {
    return this.#stopped;
  }

  /** Runs a call after all earlier ones. */
  run<T>(call: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      if (this.#stopped) throw this.#stopped;
      this.#running = true;
      try {
        return await call();
      } catch (error) {
        if (error instanceof QueueClosing) throw error;
        this.#stopped = error instanceof Error ? error : new Error(String(error));
        this.#onFailure(this.#stopped);
        throw this.#stopped;
      } finally {
        this.#running = false;
      }
    });
    this.#last = result.catch(() => {});
    return result;
  }

  /**
   * Waits for a promise within the running call. Rejects with QueueClosing on `interrupt`; after it, at once unless
   * the promise is `ready`, which says that it has resolved already.
   */
  async waitFor(done: Promise<void>, ready: boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    done.then(resolve, reject);
    if (this.#closing && !ready) reject(this.#closingError());
    else this.#rejectWait = reject;
    await promise.finally(() => (this.#rejectWait = null));
  }

  /** Ends the running call where it waits, and every later call where it would have to wait. */
  interrupt(): void {
    this.#closing = true;
    this.#rejectWait?.(this.#closingError());
  }

  /** Rejects all calls that have not begun. */
  close(): void {
    this.#stopped ??= new Error(`${this.#owner} is closed`);
  }

  #closingError(): QueueClosing {
    return new QueueClosing(`${this.#owner} is being closed`);
  }
}
