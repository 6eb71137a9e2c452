import { compareFeerate } from './feefrac.ts';
import type { TxGraph } from './tx-graph.ts';

/** Returns the slots in mining order: parents first, and chunks of higher feerate before those of lower feerate. */
export function miningOrder(graph: TxGraph, slots: readonly number[]): number[] {
  const places = slots.map((slot) => {
    const { fee, size } = graph.chunk(slot);
    const cluster = graph.cluster(slot);
    return { slot, fee, size, cluster: cluster[0]!, place: cluster.indexOf(slot) };
  });
  // The chunks of a cluster have non-increasing feerates, so this sort preserves the linearization of each cluster.
  places.sort((a, b) => compareFeerate(b.fee, b.size, a.fee, a.size) || a.cluster - b.cluster || a.place - b.place);
  return places.map(({ slot }) => slot);
}
