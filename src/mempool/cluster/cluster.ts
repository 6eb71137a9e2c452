import { DepGraph } from './dep-graph.ts';
import type { Edges } from './edges.ts';
import { compareFeerate, type FeeFrac } from './feefrac.ts';
import { chunksOf, linearize } from './linearize.ts';

/** A chunk of the linearization, as slots of the graph with parents first. */
export interface SlotChunk extends FeeFrac {
  readonly slots: readonly number[];
}

/** A set of transactions connected by spending (Core's cluster). Immutable: any change creates new clusters. */
export interface Cluster {
  /** The linearization: parents first, highest feerates early. */
  readonly slots: readonly number[];
  readonly chunks: readonly SlotChunk[];
  readonly oversized: boolean;
}

/** Fees, weights and parents of the graph's transactions, indexed by slot. */
export interface SlotFacts {
  readonly fee: Float64Array;
  readonly weight: Uint32Array;
  readonly parents: Edges;
}

/** Returns the linearized cluster of connected transactions that are within the cluster limits. */
export function orderedCluster(members: readonly number[], { fee, weight, parents }: SlotFacts): Cluster {
  const index = new Map(members.map((slot, i) => [slot, i]));
  const graph = new DepGraph(
    members.map((slot) => ({
      fee: fee[slot]!,
      size: weight[slot]!,
      parents: parents.neighbours(slot).map((parent) => index.get(parent)!),
    })),
  );
  const order = linearize(graph);
  const chunks = chunksOf(graph, order).map((chunk) => ({
    fee: chunk.fee,
    size: chunk.size,
    slots: chunk.members.map((i) => members[i]!),
  }));
  return { slots: order.map((i) => members[i]!), chunks, oversized: false };
}

/**
 * Returns the cluster of transactions that exceed the cluster limits. It is not linearized, but ordered parents first
 * and by feerate, as one chunk.
 */
export function oversizedCluster(members: readonly number[], { fee, weight, parents }: SlotFacts): Cluster {
  const byFeerate = members.toSorted((a, b) => compareFeerate(fee[b]!, weight[b]!, fee[a]!, weight[a]!) || a - b);
  const slots: number[] = [];
  const placed = new Set<number>();
  for (const slot of byFeerate)
    for (const ancestor of parents.reach(slot).reverse())
      if (!placed.has(ancestor)) {
        placed.add(ancestor);
        slots.push(ancestor);
      }
  const ordered = parentsFirst(slots, parents);
  const chunk = {
    slots: ordered,
    fee: members.reduce((sum, slot) => sum + fee[slot]!, 0),
    size: members.reduce((sum, slot) => sum + weight[slot]!, 0),
  };
  return { slots: ordered, chunks: [chunk], oversized: true };
}

/** Returns the feerate diagram of clusters: all their chunks, highest feerate first. */
export function diagramOf(clusters: Iterable<Cluster>): FeeFrac[] {
  const chunks: FeeFrac[] = [];
  for (const cluster of clusters) chunks.push(...cluster.chunks);
  return chunks.sort((a, b) => compareFeerate(b.fee, b.size, a.fee, a.size));
}

function parentsFirst(slots: readonly number[], parents: SlotFacts['parents']): number[] {
  const ordered: number[] = [];
  const done = new Set<number>();
  const visit = (slot: number): void => {
    if (done.has(slot)) return;
    done.add(slot);
    for (const parent of parents.neighbours(slot)) visit(parent);
    ordered.push(slot);
  };
  for (const slot of slots) visit(slot);
  return ordered;
}
