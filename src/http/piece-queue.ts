import type { Owner } from './owner.ts';

/**
 * Schedules the pieces of long replies: each iteration of the event loop sends one piece per owner, so that one owner's
 * replies do not delay the requests of others.
 */
export class PieceQueue {
  readonly #waiting = new Map<Owner, (() => void)[]>();
  #isScheduled = false;

  /** Resolves when a piece of this owner may be sent. */
  nextPiece(owner: Owner): Promise<void> {
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
