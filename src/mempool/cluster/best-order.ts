import type { DepGraph } from './dep-graph.ts';

/** Sums of feerate differences below this bound are exact as doubles. */
const EXACT = Number.MAX_SAFE_INTEGER;

/**
 * Returns an optimal linearization of a cluster (indices, parents first): no other order earns more fees in any amount
 * of block space. Returns null if that takes more than `steps` steps or if the fees are too large for exact arithmetic.
 * Deterministic for a given graph.
 *
 * The transactions are split by their topologically closed subset (each member with all its ancestors) that has the
 * greatest surplus over the feerate of the whole. That subset goes first, and both halves are split again until no
 * subset of a part has a higher feerate than the part. A closure of maximum weight is a minimum cut.
 */
export function bestOrder(graph: DepGraph, steps: number): number[] | null {
  const fees = graph.fee.reduce((sum, fee) => sum + Math.abs(fee), 0);
  const sizes = graph.size.reduce((sum, size) => sum + size, 0);
  if (2 * fees * sizes > EXACT) return null;
  const order: number[] = [];
  const parts: (readonly number[])[] = [graph.parentsFirst];
  let left = steps;
  for (let part = parts.pop(); part; part = parts.pop()) {
    const network = part.length > 1 ? new ClosureFlow(graph, part) : null;
    const first = network?.maximumClosure(left) ?? null;
    left -= network?.steps ?? 0;
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
 * Maximum flow over one part of a cluster. Transactions above the feerate of the part are sources, those below it are
 * sinks, and a source may send its surplus to the sinks it depends on. The sources that keep a surplus at maximum flow,
 * with their ancestors, have a higher feerate than the part.
 */
class ClosureFlow {
  /** Pairs of source and sink visited, the measure of work. */
  steps = 0;
  readonly #graph: DepGraph;
  readonly #part: readonly number[];
  /** Indexed by position in the part: surplus not yet sent, and deficit not yet covered. */
  readonly #surplus: Float64Array;
  readonly #deficit: Float64Array;
  /** Positions of sources and of sinks, and for each source the positions of the sinks it depends on. */
  readonly #sources: number[] = [];
  readonly #sinks: number[] = [];
  readonly #reachable: number[][] = [];
  /** Flow from source to sink, indexed by source position × part length + sink position. */
  readonly #flow: Float64Array;

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
    this.#surplus = new Float64Array(length);
    this.#deficit = new Float64Array(length);
    this.#flow = new Float64Array(length * length);
    for (let at = 0; at < length; at++) {
      const weight = graph.fee[part[at]!]! * size - fee * graph.size[part[at]!]!;
      this.#surplus[at] = Math.max(0, weight);
      this.#deficit[at] = Math.max(0, -weight);
      if (weight > 0) this.#sources.push(at);
      else if (weight < 0) this.#sinks.push(at);
    }
    for (const source of this.#sources)
      this.#reachable[source] = this.#sinks.filter((sink) => graph.dependsOn(part[source]!, part[sink]!));
    this.steps = this.#sources.length * this.#sinks.length;
  }

  /**
   * Returns the transaction indices of the maximum closure, or null if no subset has a higher feerate than the part or
   * the flow takes more than `most` steps.
   */
  maximumClosure(most: number): ReadonlySet<number> | null {
    for (const source of this.#sources)
      for (const sink of this.#reachable[source]!)
        this.#push(source, sink, Math.min(this.#surplus[source]!, this.#deficit[sink]!));
    for (;;) {
      const reached = this.#augment();
      if (reached === null && this.steps <= most) continue;
      if (reached === null || reached.length === 0) return null;
      const part = this.#part;
      return new Set(part.filter((index) => reached.some((source) => this.#graph.dependsOn(part[source]!, index))));
    }
  }

  #push(source: number, sink: number, amount: number): void {
    this.#surplus[source]! -= amount;
    this.#deficit[sink]! -= amount;
    this.#flow[source * this.#part.length + sink]! += amount;
  }

  /**
   * Sends surplus along the shortest augmenting path, which may reroute flow of other sources. Returns null if such a
   * path existed; otherwise the positions of all sources reached from a remaining surplus.
   */
  #augment(): number[] | null {
    const { length } = this.#part;
    const flow = this.#flow;
    /**
     * Breadth-first tree: for a sink the source that reached it, for a source the sink whose flow it could withdraw.
     */
    const from = new Int8Array(length).fill(-1);
    const reached = this.#sources.filter((source) => this.#surplus[source]! > 0);
    const seen = new Uint8Array(length);
    for (const source of reached) seen[source] = 1;
    for (const source of reached)
      for (const sink of this.#reachable[source]!) {
        this.steps++;
        if (seen[sink]) continue;
        seen[sink] = 1;
        from[sink] = source;
        if (this.#deficit[sink]! > 0) {
          this.#augmentAlong(from, sink);
          return null;
        }
        for (const other of this.#sources) {
          this.steps++;
          if (seen[other] || flow[other * length + sink] === 0) continue;
          seen[other] = 1;
          from[other] = sink;
          // The outer loop visits the elements appended here as well.
          reached.push(other);
        }
      }
    return reached;
  }

  #augmentAlong(from: Int8Array, end: number): void {
    const { length } = this.#part;
    const flow = this.#flow;
    let amount = this.#deficit[end]!;
    let source = from[end]!;
    for (let sink = from[source]!; sink >= 0; sink = from[source]!) {
      amount = Math.min(amount, flow[source * length + sink]!);
      source = from[sink]!;
    }
    amount = Math.min(amount, this.#surplus[source]!);
    this.#surplus[source]! -= amount;
    this.#deficit[end]! -= amount;
    for (let sink = end; sink >= 0; ) {
      const by = from[sink]!;
      flow[by * length + sink]! += amount;
      const next = from[by]!;
      if (next >= 0) flow[by * length + next]! -= amount;
      sink = next;
    }
  }
}
