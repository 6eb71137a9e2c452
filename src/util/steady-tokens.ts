export interface SteadyTokenOptions {
  /** Tokens per second. */
  readonly rate: number;
  /** Tokens at the beginning, at most `cap`. */
  readonly initial: number;
  readonly cap: number;
}

/** Tokens that arrive at a steady rate up to a cap. Time is an argument, in monotonic milliseconds. */
export class SteadyTokens {
  readonly #rate: number;
  readonly #cap: number;
  #value: number;
  #refilledMs: number | null = null;

  constructor({ rate, initial, cap }: SteadyTokenOptions) {
    this.#rate = rate;
    this.#cap = cap;
    this.#value = Math.min(initial, cap);
  }

  /** Tokens at the last refill, less those removed since; may be negative. */
  get value(): number {
    return this.#value;
  }

  /** Adds the tokens of the time since the last call; none at the first one, or if the time has not grown. */
  refill(nowMs: number): void {
    const passedMs = this.#refilledMs === null ? 0 : nowMs - this.#refilledMs;
    if (passedMs > 0) this.#value = Math.min(this.#cap, this.#value + (this.#rate * passedMs) / 1000);
    this.#refilledMs = nowMs;
  }

  /** Removes tokens, also such as are not there. */
  remove(count: number): void {
    this.#value -= count;
  }
}
