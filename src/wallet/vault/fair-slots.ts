/**
 * A bounded number of slots for expensive work. Callers that wait are served in turn, so that one caller with many
 * requests delays another by one request at most.
 */
export class FairSlots {
  readonly #places: number;
  readonly #maxWaiting: number;
  /** Waiting work by caller; the next caller is first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #taken = 0;

  constructor(places: number, maxWaitingPerCaller: number) {
    this.#places = places;
    this.#maxWaiting = maxWaitingPerCaller;
  }

  /**
   * Runs the work once a slot is free. Returns null, without running it, where too many requests of the caller wait.
   */
  async run<T>(caller: string, work: () => Promise<T>): Promise<T | null> {
    if (this.#taken < this.#places) this.#taken++;
    else {
      const queue = this.#waiting.get(caller) ?? [];
      if (queue.length >= this.#maxWaiting) return null;
      this.#waiting.set(caller, queue);
      await new Promise<void>((resolve) => queue.push(resolve));
    }
    try {
      return await work();
    } finally {
      this.#passOn();
    }
  }

  /** Gives the slot to the next caller, who moves to the end. */
  #passOn(): void {
    for (const [caller, queue] of this.#waiting) {
      this.#waiting.delete(caller);
      const next = queue.shift()!;
      if (queue.length > 0) this.#waiting.set(caller, queue);
      next();
      return;
    }
    this.#taken--;
  }
}
