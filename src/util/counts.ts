/** Counts by name, each with a limit. */
export interface Counts {
  /** Adds to a count and returns true, or returns false where the count would exceed `most`. */
  add(name: string, most: number, by?: number): boolean;
  /** Subtracts what was added before. */
  subtract(name: string, by?: number): void;
  /** Sets a count to a non-negative value, in one step. */
  set(name: string, value: number): void;
  get(name: string): number;
}

/** The counts of one thread. */
export class LocalCounts implements Counts {
  readonly #counts = new Map<string, number>();

  add(name: string, most: number, by = 1): boolean {
    const count = (this.#counts.get(name) ?? 0) + by;
    if (count > most) return false;
    this.#counts.set(name, count);
    return true;
  }

  subtract(name: string, by = 1): void {
    const left = (this.#counts.get(name) ?? 0) - by;
    if (left > 0) this.#counts.set(name, left);
    else this.#counts.delete(name);
  }

  set(name: string, value: number): void {
    if (value > 0) this.#counts.set(name, value);
    else this.#counts.delete(name);
  }

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }
}
