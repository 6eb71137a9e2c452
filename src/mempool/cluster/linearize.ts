import { bestOrder } from './best-order.ts';
import type { DepGraph } from './dep-graph.ts';
import { compareFeerate, type FeeFrac } from './feefrac.ts';

/** Transactions that are mined together or not at all, as each of them is better with the others than alone. */
export interface Chunk extends FeeFrac {
  /** Indices, parents first. */
  readonly members: readonly number[];
}

/** Many times what the hardest of clusters made at random take; some milliseconds. */
const MAX_STEPS = 500_000;

/**
 * An order of a cluster, parents first, that earns early as much as there is to earn: no other is better anywhere. Where
 * that would take too long, or fees are beyond all measure, it is a good one: greedily by the feerate of what each
 * transaction needs. Chunks hang together. The same for the same graph.
 */
export function linearize(graph: DepGraph): number[] {
  // Where all have one parent at most, or one child, any order becomes the best by being evened out.
  const order = graph.isForest ? graph.parentsFirst : (bestOrder(graph, MAX_STEPS) ?? byAncestorFeerate(graph));
  return evenOut(graph, evenOut(graph, order, true), false);
}

/** The chunks of an order, in falling order of feerate. */
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

/** Again and again the transaction that pays best together with all it still needs. */
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
    // What fewer others are needed for comes first.
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
 * An order that is nowhere worse, in chunks that hang together.
 *
 * Goes through an order from one end and lets better groups pass those before them that they do not need, taking those
 * that they need along. `backwards` does so from the last, with worse groups passing.
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
