import { DepGraph } from './cluster/dep-graph.ts';
import { chunksOf, linearize } from './cluster/linearize.ts';
import type { Entries } from './entries.ts';

/** A chunk of a linearization; fee in satoshis with prioritisation, weight adjusted for sigops. */
export interface MempoolChunk {
  readonly slots: readonly number[];
  readonly fee: number;
  readonly weight: number;
}

/** Maximum size of a cluster; it is exceeded only for a moment during a reorganization. */
const CLUSTER_MAX = 64;

/** Returns the slots of the parents. */
export function parentsOf(entries: Entries, slot: number): number[] {
  return [...new Set(entries.inputSlots(slot))].filter((parent) => parent >= 0);
}

export function childrenOf(entries: Entries, slot: number): number[] {
  return entries.spendersOf(entries.txid(slot));
}

/** Returns all ancestors, beginning with the transaction itself. */
export function ancestorsOf(entries: Entries, slot: number): number[] {
  return reach(slot, (at) => parentsOf(entries, at));
}

/** Returns all descendants, beginning with the transaction itself. */
export function descendantsOf(entries: Entries, slot: number): number[] {
  return reach(slot, (at) => childrenOf(entries, at));
}

/** Returns all transactions of the cluster, beginning with the given one. */
export function clusterOf(entries: Entries, slot: number): number[] {
  return reach(slot, (at) => [...parentsOf(entries, at), ...childrenOf(entries, at)]);
}

/** Returns the chunks of a cluster's linearization, highest feerate first. */
export function chunksOfCluster(entries: Entries, slots: readonly number[], bytesPerSigop: number): MempoolChunk[] {
  // Sorted first, so that the same cluster always gets the same chunks.
  const sorted = slots.toSorted((a, b) => entries.order(a) - entries.order(b)).slice(0, CLUSTER_MAX);
  const index = new Map(sorted.map((slot, i) => [slot, i]));
  const graph = new DepGraph(
    sorted.map((slot) => ({
      fee: entries.modifiedFee(slot),
      size: entries.adjustedWeight(slot, bytesPerSigop),
      parents: parentsOf(entries, slot).flatMap((parent) => index.get(parent) ?? []),
    })),
  );
  return chunksOf(graph, linearize(graph)).map(({ fee, size, members }) => ({
    slots: members.map((i) => sorted[i]!),
    fee,
    weight: size,
  }));
}

function reach(start: number, next: (slot: number) => readonly number[]): number[] {
  const seen = new Set([start]);
  for (const slot of seen) for (const other of next(slot)) seen.add(other);
  return [...seen];
}
