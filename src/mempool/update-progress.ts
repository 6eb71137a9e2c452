/**
 * Counts the updates that the readers of the mempool on other threads were sent and have applied. What an update removes
 * stays readable until all readers have applied it.
 */
export class UpdateProgress {
  #sent = 0;
  #applied = 0;

  /** Number of the update that will report a change made now. */
  get next(): number {
    return this.#sent + 1;
  }

  /** Number of the last update that all readers have applied. */
  get applied(): number {
    return this.#applied;
  }

  recordSent(): void {
    this.#sent++;
  }

  recordApplied(updates: number): void {
    this.#applied += updates;
  }
}
