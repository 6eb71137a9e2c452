interface Waiting<M> {
  readonly message: M;
  readonly transfer: readonly ArrayBuffer[];
}

/**
 * Collects messages to another thread that are sent in one iteration of the event loop, and posts them as one: waking the
 * other thread costs more than most messages. A message that cannot be posted, as one with a value that cannot be cloned,
 * does not hold up the others.
 */
export class Outbox<M> {
  readonly #post: (messages: readonly M[], transfer: ArrayBuffer[]) => void;
  readonly #onLost: (message: M, error: unknown) => void;
  #waiting: Waiting<M>[] = [];
  #collecting = false;

  /** `onLost` is called with a message that cannot be posted, when those sent with it are posted. */
  constructor(
    post: (messages: readonly M[], transfer: ArrayBuffer[]) => void,
    onLost: (message: M, error: unknown) => void,
  ) {
    this.#post = post;
    this.#onLost = onLost;
  }

  /** Collects messages until the other tasks of this iteration of the event loop are done. */
  collect(): void {
    if (this.#collecting) return;
    this.#collecting = true;
    setImmediate(() => {
      this.#collecting = false;
      this.#flush();
    });
  }

  /** Posts a message at once, unless messages are collected. */
  send(message: M, transfer: readonly ArrayBuffer[] = []): void {
    this.#waiting.push({ message, transfer });
    if (!this.#collecting) this.#flush();
  }

  #flush(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    if (this.#problemOf(waiting) === null) return;
    // Nothing of the whole was posted.
    const lost = waiting.map((one) => ({ one, problem: this.#problemOf([one]) }));
    for (const { one, problem } of lost) if (problem) this.#onLost(one.message, problem.error);
  }

  /** Posts messages as one. Returns the error if that fails, else null. */
  #problemOf(waiting: readonly Waiting<M>[]): { readonly error: unknown } | null {
    try {
      this.#post(
        waiting.map(({ message }) => message),
        waiting.flatMap(({ transfer }) => transfer),
      );
      return null;
    } catch (error) {
      return { error };
    }
  }
}
