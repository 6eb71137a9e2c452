import { reject, type TxRejection } from '../../consensus/rejection.ts';
import { checkReplacementClusters, paysForReplacement } from '../../policy/rbf.ts';
import type { Result } from '../../util/result.ts';
import { compareDiagrams } from '../cluster/feefrac.ts';
import type { Mempool } from '../pool.ts';
import type { Candidate } from './pre-check.ts';

/**
 * Whether a staged transaction may take the place of those it contradicts and of all that descends from them: it pays
 * more than they did and for its own relay, and miners are better off. Yields the slots to take out, staged as removed.
 */
export function checkReplacement(mempool: Mempool, candidate: Candidate): Result<number[], TxRejection> {
  const { parsed, conflicts, modifiedFee, entry, siblingEviction } = candidate;
  const suffix = siblingEviction ? ' (including sibling eviction)' : '';
  const tooMany = checkReplacementClusters(parsed.txid, mempool.graph.distinctClusters([...conflicts]));
  if (tooMany !== null) return reject('policy', `too many potential replacements${suffix}`, tooMany);
  const all = withDescendants(mempool, conflicts);
  const paid = paysForReplacement({
    txid: parsed.txid,
    originalFees: BigInt(sumOf(all, (slot) => mempool.entries.modifiedFee(slot))),
    replacementFees: BigInt(modifiedFee),
    replacementVsize: entry.vsize,
    incrementalFeerate: mempool.options.incrementalFeerate,
  });
  if (paid !== null) return reject('fee', `insufficient fee${suffix}`, paid);
  for (const slot of all) mempool.graph.remove(slot);
  if (!linkParents(mempool, candidate, new Set(all)) || mempool.graph.isOversized())
    return reject('policy', 'too-large-cluster');
  if (!improvesDiagram(mempool))
    return reject('fee', 'replacement-failed', 'insufficient feerate: does not improve feerate diagram');
  return { ok: true, value: all };
}

/** Slots with all their descendants. */
export function withDescendants({ graph }: Mempool, slots: ReadonlySet<number>): number[] {
  const all = new Set<number>();
  for (const slot of slots) for (const descendant of graph.descendants(slot)) all.add(descendant);
  return [...all];
}

/** Whether what is staged is better everywhere than what is there. */
export function improvesDiagram(mempool: Mempool): boolean {
  const { main, staging } = mempool.graph.diagrams();
  return compareDiagrams(staging, main) === 1;
}

export function sumOf(slots: readonly number[], value: (slot: number) => number): number {
  let sum = 0;
  for (const slot of slots) sum += value(slot);
  return sum;
}

/**
 * Tells the graph whose outputs a staged transaction spends; those that are to be replaced do not count. False where
 * they would be too large a cluster together: then nothing is linked, as it costs nothing to spend of thousands without
 * a signature, and all their clusters would have to be ordered anew.
 */
export function linkParents({ graph }: Mempool, { slot, parents }: Candidate, replaced: ReadonlySet<number>): boolean {
  const left = parents.filter((parent) => !replaced.has(parent));
  if (left.length > 1 && !graph.canJoin(slot, left)) return false;
  for (const parent of left) graph.addDependency(parent, slot);
  return true;
}
