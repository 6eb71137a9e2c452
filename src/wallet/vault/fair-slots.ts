/**
 * Places for costly work: so many at once in all, given to those who wait in turn by who asks, so that one caller with many
 * requests delays another by one of them.
 */
export class FairSlots {
  readonly #places: number;
  readonly #maxWaiting: number;
  /** By caller; the one that is next stands first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #taken = 0;

  constructor(places: number, maxWaitingPerCaller: number) {
    this.#places = places;
    this.#maxWaiting = maxWaitingPerCaller;
  }

  /** Runs the work when there is a place; null, and the work is not run, where too much of the caller waits already. */
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

  /** Gives the place to the caller that is next, who then stands last. */
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
