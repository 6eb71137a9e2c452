import type { SlotChunk } from './cluster.ts';
import { compareFeerate } from './feefrac.ts';
import type { TxGraph } from './tx-graph.ts';

/**
 * Yields the chunks with the highest feerates, best first, until their total weight reaches `weight` or the graph has
 * no more. Only the feerate classes that can contain them are read, and each class is sorted when the iteration reaches
 * it.
 */
export function* bestChunks(graph: TxGraph, weight: number): Generator<SlotChunk, void> {
  let sum = 0;
  for (const chunks of graph.bestClasses(weight)) {
    // The sort is stable, and the chunks of one cluster are listed in linearization order, so equal feerates keep that
    // order.
    chunks.sort((a, b) => compareFeerate(b.fee, b.size, a.fee, a.size));
    for (const chunk of chunks) {
      yield chunk;
      sum += chunk.size;
      if (sum >= weight) return;
    }
  }
}
