/** Over this, answers wait until some of it is gone. Core's default for m_max_send_size. */
export const SOFT_SEND_LIMIT = 1_000_000;
/** Over this, the peer is given up. A few of the largest messages fit. */
export const HARD_SEND_LIMIT = 32_000_000;
/** What a queued piece takes beside its bytes, so that many small ones are not free. */
const OVERHEAD = 128;
/** Small pieces behind each other are written together up to this, to spare calls of the system and packets. */
const JOIN_UP_TO = 16_384;

interface Piece {
  readonly bytes: Uint8Array;
  /** Null where it is no message. */
  readonly type: string | null;
  /** How much of it is written. */
  at: number;
  /** Monotonic milliseconds at which it was queued. */
  readonly since: number;
}

/** What waits to be written to a socket, in order. */
export class SendQueue {
  readonly #pieces: Piece[] = [];
  #head = 0;
  #size = 0;

  /** Bytes that wait, and what they take to be kept. */
  get size(): number {
    return this.#size;
  }

  get isEmpty(): boolean {
    return this.#head === this.#pieces.length;
  }

  /** When the oldest of what waits was queued; null where nothing does. */
  get since(): number | null {
    return this.#pieces[this.#head]?.since ?? null;
  }

  /** `nowMs` on the monotonic clock. */
  push(bytes: Uint8Array, type: string | null, nowMs: number): void {
    if (bytes.length === 0) return;
    this.#pieces.push({ bytes, type, at: 0, since: nowMs });
    this.#size += bytes.length + OVERHEAD;
  }

  /** Writes until all is gone or `write` takes no more, telling `written` what went of each type. */
  flush(write: (bytes: Uint8Array) => number, written: (bytes: number, type: string | null) => void): void {
    while (!this.isEmpty) {
      const next = this.#next();
      let taken = write(next);
      const all = taken === next.length;
      while (taken > 0) {
        const piece = this.#pieces[this.#head]!;
        const count = Math.min(taken, piece.bytes.length - piece.at);
        piece.at += count;
        taken -= count;
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

  /** The bytes to write next: of one piece, or of several small ones. */
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
