/** Longest time for which a copy may fall behind its rate and catch up, milliseconds. */
const BURST_MS = 250;

/** Limits the rate of a copy on a thread of its own, and ends it on a signal in shared memory. */
export class CopyPace {
  readonly #bytesPerSecond: number;
  readonly #cancel: Int32Array;
  /** Monotonic time at which the bytes so far may have been read, milliseconds. */
  #due = performance.now();

  /** `bytesPerSecond` 0 sets no limit. `cancel[0]` is not zero when the copy is to end, and is notified. */
  constructor(bytesPerSecond: number, cancel: Int32Array) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#cancel = cancel;
  }

  /** Waits as long as the rate demands after this many bytes. Returns false when the copy is to end. */
  waitAfter(bytes: number): boolean {
    if (this.#bytesPerSecond > 0) {
      const now = performance.now();
      this.#due = Math.max(this.#due, now - BURST_MS) + (bytes / this.#bytesPerSecond) * 1000;
      if (this.#due > now) Atomics.wait(this.#cancel, 0, 0, this.#due - now);
    }
    return Atomics.load(this.#cancel, 0) === 0;
  }
}
