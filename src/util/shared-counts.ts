import type { Counts } from './counts.ts';
import { SharedTable } from './shared-table.ts';

/** Sets of eight names. One that is full counts no further name, which ten thousand names at a time do not cause. */
const SIZES = { sets: 16_384, fields: 1 } as const;

/** Counts by name that threads share. */
export class SharedCounts implements Counts {
  readonly #table: SharedTable;

  constructor(shared?: SharedArrayBuffer) {
    this.#table = new SharedTable(SIZES, shared);
  }

  get shared(): SharedArrayBuffer {
    return this.#table.shared;
  }

  add(name: string, most: number, by = 1): boolean {
    const at = this.#table.acquire(name, false);
    if (at < 0) return false;
    const { values } = this.#table;
    const fits = values[at]! + by <= most;
    if (fits) values[at]! += by;
    this.#releaseRow(at);
    return fits;
  }

  subtract(name: string, by = 1): void {
    const at = this.#table.acquire(name, false);
    if (at < 0) return;
    this.#table.values[at] = Math.max(0, this.#table.values[at]! - by);
    this.#releaseRow(at);
  }

  set(name: string, value: number): void {
    const at = this.#table.acquire(name, false);
    if (at < 0) return;
    this.#table.values[at] = value;
    this.#releaseRow(at);
  }

  get(name: string): number {
    const at = this.#table.acquire(name, false);
    if (at < 0) return 0;
    const count = this.#table.values[at]!;
    this.#releaseRow(at);
    return count;
  }

  #releaseRow(at: number): void {
    if (this.#table.values[at] === 0) this.#table.remove(at);
    else this.#table.release();
  }
}
