/**
 * Counts bytes that were sent to a slower receiver and are not acknowledged yet, so that a sender can wait for room
 * before it sends more.
 */
export class Backlog {
  readonly #limit: number;
  #bytes = 0;
  #room = Promise.withResolvers<void>();
  #closed = false;

  /** `limit`: unacknowledged bytes from which on a sender has to wait. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  addSent(bytes: number): void {
    this.#bytes += bytes;
  }

  acknowledge(bytes: number): void {
    const wasFull = this.#isFull;
    this.#bytes -= bytes;
    if (!wasFull || this.#isFull) return;
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }

  /** Resolves when there is room again; null where there is room now. */
  whenRoom(): Promise<void> | null {
    return this.#isFull && !this.#closed ? this.#room.promise : null;
  }

  /** Ends all waits: the receiver is gone. */
  close(): void {
    this.#closed = true;
    this.#room.resolve();
  }

  get #isFull(): boolean {
    return this.#bytes >= this.#limit;
  }
}
