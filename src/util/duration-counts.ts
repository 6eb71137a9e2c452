/** Upper bounds, in seconds, by which durations are sorted. */
export const DURATION_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

/** How long something took, how often: plain data, so that it goes from thread to thread. */
export interface DurationTotals {
  readonly seconds: number;
  /** By bound, each up to its own alone; the last is for what is above all bounds. */
  readonly buckets: Float64Array;
}

/** Counts durations. */
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

  /** What was counted so far, as data of its own. */
  totals(): DurationTotals {
    return { seconds: this.#seconds, buckets: this.buckets.slice() };
  }
}
