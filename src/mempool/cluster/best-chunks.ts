import type { SlotChunk } from './cluster.ts';
import { compareFeerate } from './feefrac.ts';
import type { TxGraph } from './tx-graph.ts';

/**
 * The best chunks, the best first, until they weigh so much together; all where there is less. Only those that can be
 * among them are looked at, and they are put in order as they are asked for.
 */
export function* bestChunks(graph: TxGraph, weight: number): Generator<SlotChunk, void> {
  let sum = 0;
  for (const chunks of graph.bestClasses(weight)) {
    // Those of a cluster stand in its order, and where they pay the same they stay in it.
    chunks.sort((a, b) => compareFeerate(b.fee, b.size, a.fee, a.size));
    for (const chunk of chunks) {
      yield chunk;
      sum += chunk.size;
      if (sum >= weight) return;
    }
  }
}
