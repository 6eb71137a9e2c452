/** Core's numbers: how many are kept, and how many it takes to say anything. */
const KEPT = 50;
const LEAST = 5;

/** By how many seconds the clocks of peers are ahead of ours, of the last ones that we chose. */
export class TimeOffsets {
  readonly #offsets: number[] = [];

  add(seconds: number): void {
    if (this.#offsets.length >= KEPT) this.#offsets.shift();
    this.#offsets.push(seconds);
  }

  get count(): number {
    return this.#offsets.length;
  }

  /** Seconds; 0 as long as there are fewer than five. */
  get median(): number {
    if (this.#offsets.length < LEAST) return 0;
    return this.#offsets.toSorted((a, b) => a - b)[this.#offsets.length >> 1]!;
  }
}
