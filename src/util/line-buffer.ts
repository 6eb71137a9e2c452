const FLUSH_AFTER_MS = 50;
const FLUSH_AT_BYTES = 16 * 1024;

/** Collects lines and writes them together. Lines beyond its bound are dropped and counted. */
export class LineBuffer {
  dropped = 0;
  readonly #write: (bytes: Uint8Array) => number;
  readonly #maxBytes: number;
  #lines: string[] = [];
  /** Counted as UTF-16 length, which is close enough to bytes for a bound. */
  #lineBytes = 0;
  /** Encoded lines that the sink has not accepted yet. */
  #rest = new Uint8Array(0);
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(write: (bytes: Uint8Array) => number, maxBytes: number) {
    this.#write = write;
    this.#maxBytes = maxBytes;
  }

  get hasRoom(): boolean {
    return this.#lineBytes + this.#rest.length < this.#maxBytes;
  }

  add(line: string): void {
    if (!this.hasRoom) {
      this.dropped++;
      return;
    }
    this.#lines.push(line);
    this.#lineBytes += line.length;
    if (this.#lineBytes >= FLUSH_AT_BYTES && this.#rest.length === 0) this.flush();
    else this.#schedule();
  }

  flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    try {
      this.#drain();
    } catch {
      // A failing sink must not stop the node.
      this.#rest = new Uint8Array(0);
    }
    if (this.#rest.length > 0) this.#schedule();
  }

  #drain(): void {
    while (this.#rest.length > 0 || this.#lines.length > 0) {
      if (this.#rest.length === 0) {
        this.#rest = new TextEncoder().encode(this.#lines.join(''));
        this.#lines = [];
        this.#lineBytes = 0;
      }
      const accepted = this.#write(this.#rest);
      if (accepted <= 0) return;
      this.#rest = this.#rest.subarray(accepted);
    }
  }

  #schedule(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => this.flush(), FLUSH_AFTER_MS);
    // Pending lines are written at exit, so the timer need not keep the process alive.
    this.#timer.unref();
  }
}
