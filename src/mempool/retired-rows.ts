import type { UpdateProgress } from './update-progress.ts';

const COMPACT_AT = 4096;

/**
 * Rows of removed transactions that readers on other threads may still read, in order of removal. Their number is bounded
 * by the mempool: while a reader does not acknowledge updates, transactions of peers wait, and a block removes at most
 * all transactions.
 */
export class RetiredRows {
  readonly #progress: UpdateProgress;
  /** Slots, each with the number of the update that reports its removal. */
  #slots: number[] = [];
  #updates: number[] = [];
  #first = 0;

  constructor(progress: UpdateProgress) {
    this.#progress = progress;
  }

  add(slot: number): void {
    this.#slots.push(slot);
    this.#updates.push(this.#progress.next);
  }

  /** Returns the next slot that no reader needs any more and forgets it, or -1. */
  next(): number {
    if (this.#first === this.#slots.length || this.#updates[this.#first]! > this.#progress.applied) return -1;
    const slot = this.#slots[this.#first++]!;
    if (this.#first >= COMPACT_AT && this.#first * 2 >= this.#slots.length) {
      this.#slots = this.#slots.slice(this.#first);
      this.#updates = this.#updates.slice(this.#first);
      this.#first = 0;
    }
    return slot;
  }
}
