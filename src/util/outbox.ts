/**
 * Collects messages to another thread that are sent in one iteration of the event loop, and posts them as one: waking the
 * other thread costs more than most messages.
 */
export class Outbox<M> {
  readonly #post: (messages: readonly M[], transfer: ArrayBuffer[]) => void;
  #messages: M[] = [];
  #transfer: ArrayBuffer[] = [];
  #collecting = false;

  constructor(post: (messages: readonly M[], transfer: ArrayBuffer[]) => void) {
    this.#post = post;
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
    this.#messages.push(message);
    this.#transfer.push(...transfer);
    if (!this.#collecting) this.#flush();
  }

  #flush(): void {
    if (this.#messages.length === 0) return;
    const [messages, transfer] = [this.#messages, this.#transfer];
    this.#messages = [];
    this.#transfer = [];
    this.#post(messages, transfer);
  }
}
