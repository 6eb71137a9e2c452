const NONE: readonly number[] = [];

/**
 * Adjacency lists of the transaction graph in one direction (parents or children), by slot. A single edge is stored as
 * a plain number: most slots have at most one, and an array for each would dominate the work of the garbage collector.
 */
export class Edges {
  /** undefined if the slot is free. */
  readonly #neighbours: (number | readonly number[] | undefined)[] = [];

  /** One above the highest slot ever opened. */
  get end(): number {
    return this.#neighbours.length;
  }

  /** Allocates a slot without edges. */
  open(slot: number): void {
    this.#neighbours[slot] = NONE;
  }

  free(slot: number): void {
    this.#neighbours[slot] = undefined;
  }

  isFree(slot: number): boolean {
    return this.#neighbours[slot] === undefined;
  }

  /** Returns the neighbours of a slot in insertion order. */
  neighbours(slot: number): readonly number[] {
    const edges = this.#neighbours[slot]!;
    return typeof edges === 'number' ? [edges] : edges;
  }

  hasNone(slot: number): boolean {
    const edges = this.#neighbours[slot]!;
    return typeof edges !== 'number' && edges.length === 0;
  }

  has(slot: number, other: number): boolean {
    const edges = this.#neighbours[slot]!;
    return typeof edges === 'number' ? edges === other : edges.includes(other);
  }

  add(slot: number, other: number): void {
    this.#neighbours[slot] = this.hasNone(slot) ? other : [...this.neighbours(slot), other];
  }

  remove(slot: number, other: number): void {
    const left = this.neighbours(slot).filter((edge) => edge !== other);
    this.#neighbours[slot] = left.length === 1 ? left[0]! : left.length === 0 ? NONE : left;
  }

  /** Returns all slots reachable from `start`, beginning with `start`. */
  reach(start: number): number[] {
    const seen = new Set([start]);
    for (const slot of seen) for (const next of this.neighbours(slot)) seen.add(next);
    return [...seen];
  }
}
