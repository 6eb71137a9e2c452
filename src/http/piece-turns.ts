import type { Owner } from './owner.ts';

/**
 * Turns at sending a piece of a long reply: in each round of the event loop one for each owner, so that what one of them
 * is sent does not hold up the requests of the others.
 */
export class PieceTurns {
  readonly #waiting = new Map<Owner, (() => void)[]>();
  #isScheduled = false;

  /** Resolves when it is the turn of a piece for this owner. */
  next(owner: Owner): Promise<void> {
    return new Promise((resolve) => {
      const others = this.#waiting.get(owner);
      if (others) others.push(resolve);
      else this.#waiting.set(owner, [resolve]);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#round());
  }

  #round(): void {
    this.#isScheduled = false;
    for (const [owner, pieces] of this.#waiting) {
      pieces.shift()!();
      if (pieces.length === 0) this.#waiting.delete(owner);
    }
    if (this.#waiting.size > 0) this.#schedule();
  }
}
