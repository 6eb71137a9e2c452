/** Queue size above which further answers wait, bytes. Core's default for m_max_send_size. */
export const SOFT_SEND_LIMIT = 1_000_000;
/** Queue size above which the peer is disconnected, bytes. A few of the largest messages fit. */
export const HARD_SEND_LIMIT = 32_000_000;
/** Memory of a queued piece beyond its bytes. */
const OVERHEAD = 128;
/** Consecutive small pieces are joined up to this size, which saves system calls and packets. */
const JOIN_UP_TO = 16_384;

interface Piece {
  readonly bytes: Uint8Array;
  /** Message type; null for handshake bytes. */
  readonly type: string | null;
  /** Number of bytes already written. */
  at: number;
  /** Monotonic milliseconds at which it was queued. */
  readonly since: number;
}

/** Bytes to be written to a socket, in order. */
export class SendQueue {
  readonly #pieces: Piece[] = [];
  #head = 0;
  #size = 0;

  /** Size of the queue including overhead, bytes. */
  get size(): number {
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#head === this.#pieces.length;
  }

  /** Monotonic milliseconds at which the oldest piece was queued; null if empty. */
  get since(): number | null {
    return this.#pieces[this.#head]?.since ?? null;
  }

  /** Appends bytes; `nowMs` is on the monotonic clock. */
  push(bytes: Uint8Array, type: string | null, nowMs: number): void {
    if (bytes.length === 0) return;
    this.#pieces.push({ bytes, type, at: 0, since: nowMs });
    this.#size += bytes.length + OVERHEAD;
  }

  /** Writes until the queue is empty or `write` accepts no more, and reports the written bytes by message type. */
  flush(write: (bytes: Uint8Array) => number, written: (bytes: number, type: string | null) => void): void {
    while (!this.isEmpty) {
      const next = this.#next();
      let accepted = write(next);
      const all = accepted === next.length;
      while (accepted > 0) {
        const piece = this.#pieces[this.#head]!;
        const count = Math.min(accepted, piece.bytes.length - piece.at);
        piece.at += count;
        accepted -= count;
        this.#size -= count;
        if (piece.at === piece.bytes.length) this.#shift();
        written(count, piece.type);
      }
      if (!all) return;
    }
  }

  clear(): void {
    this.#pieces.length = 0;
    this.#head = 0;
    this.#size = 0;
  }

  /** Returns the bytes to write next: one piece, or several small ones joined. */
  #next(): Uint8Array {
    const first = this.#rest(this.#head);
    let end = this.#head + 1;
    let length = first.length;
    while (end < this.#pieces.length && length + this.#pieces[end]!.bytes.length <= JOIN_UP_TO)
      length += this.#pieces[end++]!.bytes.length;
    if (end === this.#head + 1) return first;
    const joined = new Uint8Array(length);
    for (let i = this.#head, at = 0; i < end; i++) {
      const bytes = this.#rest(i);
      joined.set(bytes, at);
      at += bytes.length;
    }
    return joined;
  }

  #rest(index: number): Uint8Array {
    const { bytes, at } = this.#pieces[index]!;
    return at === 0 ? bytes : bytes.subarray(at);
  }

  #shift(): void {
    this.#head++;
    this.#size -= OVERHEAD;
    if (this.isEmpty) this.clear();
    else if (this.#head > 1024 && this.#head * 2 > this.#pieces.length) {
      this.#pieces.splice(0, this.#head);
      this.#head = 0;
    }
  }
}
