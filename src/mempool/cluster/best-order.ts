import type { DepGraph } from './dep-graph.ts';

/** What differences of feerates come to is exact as doubles up to here. */
const EXACT = Number.MAX_SAFE_INTEGER;

/**
 * The best order there is of a cluster, parents first: no other earns more in any amount of block space. Null where it
 * would take more than `steps`, or fees are too large to be reckoned with exactly. The same for the same graph.
 *
 * Whatever pays better than the whole, with all it needs, goes first; of all such sets the one that pays most beyond
 * the feerate of the whole. It and the rest are then divided in the same way, until nothing in a part pays better than
 * the part as a whole. What is looked for is the closure of the greatest weight, which is a minimum cut.
 */
export function bestOrder(graph: DepGraph, steps: number): number[] | null {
  const fees = graph.fee.reduce((sum, fee) => sum + Math.abs(fee), 0);
  const sizes = graph.size.reduce((sum, size) => sum + size, 0);
  if (2 * fees * sizes > EXACT) return null;
  const order: number[] = [];
  const parts: (readonly number[])[] = [graph.parentsFirst];
  let left = steps;
  for (let part = parts.pop(); part; part = parts.pop()) {
    const better = part.length > 1 ? new Transport(graph, part) : null;
    const first = better?.best(left) ?? null;
    left -= better?.steps ?? 0;
    if (left < 0) return null;
    if (first === null) order.push(...part);
    else
      parts.push(
        part.filter((index) => !first.has(index)),
        part.filter((index) => first.has(index)),
      );
  }
  return order;
}

/**
 * Those of a part that pay more than it does make up for what they need that pays less, as goods are brought from where
 * there is too much to where there is too little. Where something is left over, those that have it, with all they need,
 * pay better than the part.
 */
class Transport {
  /** Pairs that were looked at. */
  steps = 0;
  readonly #graph: DepGraph;
  readonly #part: readonly number[];
  /** By place in the part: what is left over, and what is missing still. */
  readonly #left: Float64Array;
  readonly #missing: Float64Array;
  /** Places of those that pay more, and for each the places of those that pay less and that it needs. */
  readonly #givers: number[] = [];
  readonly #takers: number[] = [];
  readonly #needs: number[][] = [];
  /** What was brought, by place of the giver and of the taker. */
  readonly #brought: Float64Array;

  constructor(graph: DepGraph, part: readonly number[]) {
    this.#graph = graph;
    this.#part = part;
    const { length } = part;
    let fee = 0;
    let size = 0;
    for (const index of part) {
      fee += graph.fee[index]!;
      size += graph.size[index]!;
    }
    this.#left = new Float64Array(length);
    this.#missing = new Float64Array(length);
    this.#brought = new Float64Array(length * length);
    for (let at = 0; at < length; at++) {
      const weight = graph.fee[part[at]!]! * size - fee * graph.size[part[at]!]!;
      this.#left[at] = Math.max(0, weight);
      this.#missing[at] = Math.max(0, -weight);
      if (weight > 0) this.#givers.push(at);
      else if (weight < 0) this.#takers.push(at);
    }
    for (const giver of this.#givers)
      this.#needs[giver] = this.#takers.filter((taker) => graph.dependsOn(part[giver]!, part[taker]!));
    this.steps = this.#givers.length * this.#takers.length;
  }

  /** Indices of what pays better than the part, where there is such; gives up after `most` steps. */
  best(most: number): ReadonlySet<number> | null {
    for (const giver of this.#givers)
      for (const taker of this.#needs[giver]!)
        this.#bring(giver, taker, Math.min(this.#left[giver]!, this.#missing[taker]!));
    for (;;) {
      const reached = this.#bringFurther();
      if (reached === null && this.steps <= most) continue;
      if (reached === null || reached.length === 0) return null;
      const part = this.#part;
      return new Set(part.filter((index) => reached.some((giver) => this.#graph.dependsOn(part[giver]!, index))));
    }
  }

  #bring(giver: number, taker: number, amount: number): void {
    this.#left[giver]! -= amount;
    this.#missing[taker]! -= amount;
    this.#brought[giver * this.#part.length + taker]! += amount;
  }

  /**
   * Brings what is left over to where it is missing by the shortest way, along which others bring what they have to
   * somewhere else. Null where it could; otherwise the places of all givers that were reached.
   */
  #bringFurther(): number[] | null {
    const { length } = this.#part;
    const brought = this.#brought;
    /** By place: from where a taker was reached, and whose goods a giver could take back. */
    const from = new Int8Array(length).fill(-1);
    const reached = this.#givers.filter((giver) => this.#left[giver]! > 0);
    const seen = new Uint8Array(length);
    for (const giver of reached) seen[giver] = 1;
    for (const giver of reached)
      for (const taker of this.#needs[giver]!) {
        this.steps++;
        if (seen[taker]) continue;
        seen[taker] = 1;
        from[taker] = giver;
        if (this.#missing[taker]! > 0) {
          this.#along(from, taker);
          return null;
        }
        for (const other of this.#givers) {
          this.steps++;
          if (seen[other] || brought[other * length + taker] === 0) continue;
          seen[other] = 1;
          from[other] = taker;
          // A list that grows while it is gone through.
          reached.push(other);
        }
      }
    return reached;
  }

  #along(from: Int8Array, end: number): void {
    const { length } = this.#part;
    const brought = this.#brought;
    let amount = this.#missing[end]!;
    let giver = from[end]!;
    for (let taker = from[giver]!; taker >= 0; taker = from[giver]!) {
      amount = Math.min(amount, brought[giver * length + taker]!);
      giver = from[taker]!;
    }
    amount = Math.min(amount, this.#left[giver]!);
    this.#left[giver]! -= amount;
    this.#missing[end]! -= amount;
    for (let taker = end; taker >= 0; ) {
      const by = from[taker]!;
      brought[by * length + taker]! += amount;
      const next = from[by]!;
      if (next >= 0) brought[by * length + next]! -= amount;
      taker = next;
    }
  }
}
