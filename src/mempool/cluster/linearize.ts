import { bestOrder } from './best-order.ts';
import type { DepGraph } from './dep-graph.ts';
import { compareFeerate, type FeeFrac } from './feefrac.ts';

/** Transactions that are mined together: no prefix of the chunk has a higher feerate than the chunk. */
export interface Chunk extends FeeFrac {
  /** Indices, parents first. */
  readonly members: readonly number[];
}

/** Limit on the work for one cluster: a few milliseconds, and many times what the hardest random clusters need. */
const MAX_STEPS = 500_000;

/**
 * Returns a linearization of a cluster (indices, parents first). It is optimal, or ancestor-feerate order improved by
 * merging if an optimal one would take too long or needs inexact arithmetic. The transactions of each chunk are
 * connected. Deterministic for a given graph.
 */
export function linearize(graph: DepGraph): number[] {
  // Merging makes any topological order of a forest optimal.
  const order = graph.isForest ? graph.parentsFirst : (bestOrder(graph, MAX_STEPS) ?? byAncestorFeerate(graph));
  return evenOut(graph, evenOut(graph, order, true), false);
}

/** Returns the chunks of an order, highest feerate first. */
export function chunksOf(graph: DepGraph, order: readonly number[]): Chunk[] {
  const chunks: { fee: number; size: number; members: number[] }[] = [];
  for (const index of order) {
    let chunk = { fee: graph.fee[index]!, size: graph.size[index]!, members: [index] };
    for (let last = chunks.at(-1); last && higher(chunk, last); last = chunks.at(-1)) {
      chunks.pop();
      chunk = {
        fee: last.fee + chunk.fee,
        size: last.size + chunk.size,
        members: [...last.members, ...chunk.members],
      };
    }
    chunks.push(chunk);
  }
  return chunks;
}

function higher(a: FeeFrac, b: FeeFrac): boolean {
  return compareFeerate(a.fee, a.size, b.fee, b.size) > 0;
}

/**
 * Returns the order that repeatedly selects the transaction with the best feerate including its unselected ancestors.
 */
function byAncestorFeerate(graph: DepGraph): number[] {
  const left = new Set(Array.from({ length: graph.count }, (_, index) => index));
  const order: number[] = [];
  while (left.size > 0) {
    let best: { fee: number; size: number; members: number[] } | null = null;
    for (const index of left) {
      const set = { fee: 0, size: 0, members: [] as number[] };
      for (const other of left)
        if (graph.dependsOn(index, other)) {
          set.fee += graph.fee[other]!;
          set.size += graph.size[other]!;
          set.members.push(other);
        }
      if (best === null || higher(set, best)) best = set;
    }
    // A transaction with fewer ancestors in the set comes first, so parents precede children.
    const rank = (index: number) => best!.members.filter((other) => graph.dependsOn(index, other)).length;
    for (const index of best!.members.toSorted((a, b) => rank(a) - rank(b) || a - b)) {
      order.push(index);
      left.delete(index);
    }
  }
  return order;
}

interface Group {
  fee: number;
  size: number;
  members: number[];
}

/**
 * Post-processes a linearization (Core's PostLinearize). The result is at least as good at every size, and its chunks
 * are connected.
 *
 * Goes through the order and moves each group before preceding groups of lower feerate; a group it depends on is merged
 * with it instead. With `backwards` the pass starts at the end and moves groups of lower feerate behind those of higher
 * feerate.
 */
function evenOut(graph: DepGraph, order: readonly number[], backwards: boolean): number[] {
  const needs = (group: Group, other: Group) =>
    group.members.some((a) => other.members.some((b) => (backwards ? graph.dependsOn(b, a) : graph.dependsOn(a, b))));
  const better = (a: Group, b: Group) => (backwards ? higher(b, a) : higher(a, b));
  const groups: Group[] = [];
  for (const index of backwards ? order.toReversed() : order) {
    let group: Group = { fee: graph.fee[index]!, size: graph.size[index]!, members: [index] };
    let at = groups.length;
    groups.push(group);
    while (at > 0 && better(group, groups[at - 1]!)) {
      const previous = groups[at - 1]!;
      if (needs(group, previous)) {
        group = {
          fee: previous.fee + group.fee,
          size: previous.size + group.size,
          members: [...previous.members, ...group.members],
        };
        groups.splice(at - 1, 2, group);
      } else {
        groups[at] = previous;
        groups[at - 1] = group;
      }
      at--;
    }
  }
  const result = groups.flatMap(({ members }) => members);
  return backwards ? result.reverse() : result;
}
