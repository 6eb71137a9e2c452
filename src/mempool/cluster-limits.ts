import type { Outpoint } from '../primitives/outpoint.ts';
import type { Mempool } from './pool.ts';

/**
 * Returns whether a transaction of this weight that spends these coins stays within the cluster limits. Mempool
 * transactions that spend the coins are assumed to be replaced.
 */
export function fitsClusterLimits({ entries, graph }: Mempool, spent: readonly Outpoint[], weight: number): boolean {
  graph.startStaging();
  try {
    const replaced = new Set<number>();
    for (const outpoint of spent) {
      const spender = entries.spender(outpoint);
      if (spender >= 0) for (const slot of graph.descendants(spender)) replaced.add(slot);
    }
    for (const slot of replaced) graph.remove(slot);
    const parents = new Set(spent.map(({ txid }) => entries.find(txid)));
    const slot = graph.add(0, weight);
    for (const parent of parents) if (parent >= 0 && !replaced.has(parent)) graph.addDependency(parent, slot);
    return !graph.isOversized();
  } finally {
    graph.abortStaging();
  }
}
