import { DepGraph } from './cluster/dep-graph.ts';
import { chunksOf, linearize } from './cluster/linearize.ts';
import type { Entries } from './entries.ts';

/** Transactions that are best mined together; fee in satoshis with prioritisation, weight adjusted for sigops. */
export interface Chunk {
  readonly slots: readonly number[];
  readonly fee: number;
  readonly weight: number;
}

/** Most that a cluster can hold; more hang together for a moment at most. */
const CLUSTER_MAX = 64;

/** Slots of the transactions whose outputs this one spends. */
export function parentsOf(entries: Entries, slot: number): number[] {
  return [...new Set(entries.inputSlots(slot))].filter((parent) => parent >= 0);
}

export function childrenOf(entries: Entries, slot: number): number[] {
  return entries.spendersOf(entries.txid(slot));
}

/** All it descends from, itself first. */
export function ancestorsOf(entries: Entries, slot: number): number[] {
  return reach(slot, (at) => parentsOf(entries, at));
}

/** All that descends from it, itself first. */
export function descendantsOf(entries: Entries, slot: number): number[] {
  return reach(slot, (at) => childrenOf(entries, at));
}

/** All that hangs together with it. */
export function clusterOf(entries: Entries, slot: number): number[] {
  return reach(slot, (at) => [...parentsOf(entries, at), ...childrenOf(entries, at)]);
}

/** A cluster in the order in which it is best mined, in chunks. */
export function chunksOfCluster(entries: Entries, slots: readonly number[], bytesPerSigop: number): Chunk[] {
  // Always the same order to begin with, so that the same cluster gets the same chunks.
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
