/** Core's limits: samples kept, and samples needed for a median. */
const KEPT = 50;
const LEAST = 5;

/** Clock offsets of the latest outbound peers, in seconds; positive if the peer is ahead (Core's TimeOffsets). */
export class TimeOffsets {
  readonly #offsets: number[] = [];

  add(seconds: number): void {
    if (this.#offsets.length >= KEPT) this.#offsets.shift();
    this.#offsets.push(seconds);
  }

  get count(): number {
    return this.#offsets.length;
  }

  /** Median offset in seconds; 0 with fewer than 5 samples. */
  get median(): number {
    if (this.#offsets.length < LEAST) return 0;
    return this.#offsets.toSorted((a, b) => a - b)[this.#offsets.length >> 1]!;
  }
}
