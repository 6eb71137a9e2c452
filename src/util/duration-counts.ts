/** Upper bounds of the histogram buckets, seconds. */
export const DURATION_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** A histogram of durations as plain data, which can be passed between threads. */
export interface DurationTotals {
  readonly seconds: number;
  /** Count for each bound, not cumulative; the last is for durations above all bounds. */
  readonly buckets: Float64Array;
}

/** A histogram of durations. */
export class DurationCounts implements DurationTotals {
  readonly buckets = new Float64Array(DURATION_BOUNDS.length + 1);
  #seconds = 0;

  get seconds(): number {
    return this.#seconds;
  }

  observe(seconds: number): void {
    this.#seconds += seconds;
    let bucket = 0;
    while (bucket < DURATION_BOUNDS.length && seconds > DURATION_BOUNDS[bucket]!) bucket++;
    this.buckets[bucket]!++;
  }

  /** Returns a copy of the counts. */
  totals(): DurationTotals {
    return { seconds: this.#seconds, buckets: this.buckets.slice() };
  }
}
