import { reject, type TxRejection } from '../../consensus/rejection.ts';
import { checkReplacementClusters, paysForReplacement } from '../../policy/rbf.ts';
import type { Result } from '../../util/result.ts';
import { compareDiagrams } from '../cluster/feefrac.ts';
import type { Mempool } from '../pool.ts';
import type { Candidate } from './pre-check.ts';

/**
 * Validates a replacement of the conflicting transactions and their descendants: it must pay more than all of them
 * together and for its own relay, and improve the feerate diagram. Returns the slots to remove, staged as removed.
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

/** Returns the slots with all their descendants. */
export function withDescendants({ graph }: Mempool, slots: ReadonlySet<number>): number[] {
  const all = new Set<number>();
  for (const slot of slots) for (const descendant of graph.descendants(slot)) all.add(descendant);
  return [...all];
}

/** Returns whether the staged feerate diagram is better than the current one. */
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
 * Links a staged transaction to its parents that are not replaced. Returns false without linking if the cluster would
 * be too large: an attacker can spend thousands of outputs without a signature, and all their clusters would have to be
 * linearized again.
 */
export function linkParents({ graph }: Mempool, { slot, parents }: Candidate, replaced: ReadonlySet<number>): boolean {
  const left = parents.filter((parent) => !replaced.has(parent));
  if (left.length > 1 && !graph.canJoin(slot, left)) return false;
  for (const parent of left) graph.addDependency(parent, slot);
  return true;
}
