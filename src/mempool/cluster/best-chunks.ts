import { compareFeerate } from './feefrac.ts';
import type { SlotChunk, TxGraph } from './tx-graph.ts';

/** Feerates are sorted into classes, so many to a doubling; they begin at 2^-20 satoshis to a unit of weight. */
const CLASSES_PER_DOUBLING = 16;
const LOWEST = -20;
const CLASSES = 64 * CLASSES_PER_DOUBLING;

/**
 * The best chunks, the best first, until they weigh so much together; all where there is less. Only those that can be
 * among them are put in order: a large mempool is gone through twice, and not sorted.
 */
export function bestChunks(graph: TxGraph, weight: number): SlotChunk[] {
  const weights = new Float64Array(CLASSES);
  graph.eachChunk((fee, size) => {
    weights[classOf(fee, size)]! += size;
  });
  let least = CLASSES - 1;
  for (let sum = weights[least]!; sum < weight && least > 0; sum += weights[least]!) least--;
  const found: SlotChunk[] = [];
  graph.eachChunk((fee, size, slots, slot) => {
    if (classOf(fee, size) >= least) found.push({ fee, size, slots: slots ?? [slot] });
  });
  found.sort((a, b) => compareFeerate(b.fee, b.size, a.fee, a.size));
  let sum = 0;
  const last = found.findIndex(({ size }) => {
    sum += size;
    return sum >= weight;
  });
  return last < 0 ? found : found.slice(0, last + 1);
}

function classOf(fee: number, size: number): number {
  if (fee <= 0) return 0;
  const at = Math.floor((Math.log2(fee / size) - LOWEST) * CLASSES_PER_DOUBLING);
  return Math.min(CLASSES - 1, Math.max(1, at));
}
