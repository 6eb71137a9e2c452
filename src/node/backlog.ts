/**
 * How much others have been told that they have not taken in. It must not grow without end where they are slower, so
 * whoever has much to tell and time to spare asks for room first.
 */
export class Backlog {
  readonly #limit: number;
  #bytes = 0;
  #room = Promise.withResolvers<void>();
  #closed = false;

  /** `limit`: bytes of news on the way from which on there is no room. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  told(bytes: number): void {
    this.#bytes += bytes;
  }

  taken(bytes: number): void {
    const wasFull = this.#isFull;
    this.#bytes -= bytes;
    if (!wasFull || this.#isFull) return;
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }

  /** Resolves when there is room again; null where there is. */
  room(): Promise<void> | null {
    return this.#isFull && !this.#closed ? this.#room.promise : null;
  }

  /** Nobody has to wait any more: those who were told are gone. */
  close(): void {
    this.#closed = true;
    this.#room.resolve();
  }

  get #isFull(): boolean {
    return this.#bytes >= this.#limit;
  }
}
