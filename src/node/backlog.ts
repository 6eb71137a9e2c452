/**
 * Counts bytes that were sent to slower receivers and are not acknowledged yet, so that a sender can wait until the
 * slowest one has room before it sends more. All receivers are sent the same.
 */
export class Backlog {
  readonly #limit: number;
  /** Unacknowledged bytes of each receiver. */
  readonly #bytes: number[];
  #room = Promise.withResolvers<void>();
  #closed = false;

  /** `limit`: unacknowledged bytes from which on a sender has to wait. */
  constructor(limit: number, receivers = 1) {
    this.#limit = limit;
    this.#bytes = new Array<number>(receivers).fill(0);
  }

  addSent(bytes: number): void {
    for (let i = 0; i < this.#bytes.length; i++) this.#bytes[i]! += bytes;
  }

  acknowledge(bytes: number, receiver = 0): void {
    const wasFull = this.#isFull;
    this.#bytes[receiver]! -= bytes;
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
    return this.#bytes.some((bytes) => bytes >= this.#limit);
  }
}
