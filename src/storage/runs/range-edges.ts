import { compareKeys } from './run-format.ts';

/** The outermost entries of a range of keys in several runs, which are added the youngest first. */
export class RangeEdges {
  /** Lowest key; null without entries. */
  first: Uint8Array | null = null;
  /** Whether the newest entry of the lowest key is a removal. */
  firstRemoved = false;
  /** Highest key; null without entries. */
  last: Uint8Array | null = null;
  lastRemoved = false;
  /** Whether the lowest key is that of the run that is being added. */
  #firstIsOwn = false;

  /**
   * Adds the first entry of a run (`number` 0) or the second one, which may have the same key. Returns whether the second
   * one is needed.
   */
  addFirst(key: Uint8Array, removed: boolean, number: number): boolean {
    const order = this.first === null ? -1 : compareKeys(key, 0, this.first, 0, key.length);
    if (number > 0) {
      if (this.#firstIsOwn && order === 0) this.firstRemoved = removed;
      return false;
    }
    // The entry of the youngest run counts where keys are equal.
    this.#firstIsOwn = order < 0;
    if (order < 0) {
      this.first = key.slice();
      this.firstRemoved = removed;
    }
    return true;
  }

  /** Adds the last entry of a run. */
  addLast(key: Uint8Array, removed: boolean): void {
    if (this.last !== null && compareKeys(key, 0, this.last, 0, key.length) <= 0) return;
    this.last = key.slice();
    this.lastRemoved = removed;
  }
}
