import { compareFeerate } from './feefrac.ts';
import type { TxGraph } from './tx-graph.ts';

/** The same slots in the order in which they are best mined: parents first, and better chunks before worse ones. */
export function miningOrder(graph: TxGraph, slots: readonly number[]): number[] {
  const places = slots.map((slot) => {
    const { fee, size } = graph.chunk(slot);
    const cluster = graph.cluster(slot);
    return { slot, fee, size, cluster: cluster[0]!, place: cluster.indexOf(slot) };
  });
  // The chunks of a cluster never get better, so its own order is kept among the others.
  places.sort((a, b) => compareFeerate(b.fee, b.size, a.fee, a.size) || a.cluster - b.cluster || a.place - b.place);
  return places.map(({ slot }) => slot);
}
