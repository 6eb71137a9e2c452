const NONE: readonly number[] = [];

/**
 * Of each slot the slots it hangs together with in one direction. Most have one at most: that is kept as a plain number,
 * since a list for each would be most of what a collection of garbage has to visit.
 */
export class Edges {
  /** undefined where the slot is free. */
  readonly #of: (number | readonly number[] | undefined)[] = [];

  /** One above the highest slot that was ever opened. */
  get end(): number {
    return this.#of.length;
  }

  /** Begins with none. */
  open(slot: number): void {
    this.#of[slot] = NONE;
  }

  free(slot: number): void {
    this.#of[slot] = undefined;
  }

  isFree(slot: number): boolean {
    return this.#of[slot] === undefined;
  }

  /** In the order in which they were added. */
  of(slot: number): readonly number[] {
    const edges = this.#of[slot]!;
    return typeof edges === 'number' ? [edges] : edges;
  }

  hasNone(slot: number): boolean {
    const edges = this.#of[slot]!;
    return typeof edges !== 'number' && edges.length === 0;
  }

  has(slot: number, other: number): boolean {
    const edges = this.#of[slot]!;
    return typeof edges === 'number' ? edges === other : edges.includes(other);
  }

  add(slot: number, other: number): void {
    this.#of[slot] = this.hasNone(slot) ? other : [...this.of(slot), other];
  }

  remove(slot: number, other: number): void {
    const left = this.of(slot).filter((edge) => edge !== other);
    this.#of[slot] = left.length === 1 ? left[0]! : left.length === 0 ? NONE : left;
  }

  /** All that can be reached, the start first. */
  reach(start: number): number[] {
    const seen = new Set([start]);
    for (const slot of seen) for (const next of this.of(slot)) seen.add(next);
    return [...seen];
  }
}
