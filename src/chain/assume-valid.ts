import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { proofEquivalentTime } from '../consensus/work.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { HeaderTree } from './header-tree.ts';

/** A block must be buried under this much work of the best header's rate for its scripts to be skipped. */
const BURIED_S = 14 * 24 * 60 * 60;

/**
 * Whether the scripts of a block may go unchecked, as Core decides it: it is an ancestor of the block that this version
 * names, on the best chain of headers, which has the least work it may have, and buried under two weeks of it.
 */
export function isAssumedValid(entry: ChainEntry, tree: HeaderTree, params: ConsensusParams): boolean {
  if (params.assumeValid === null) return false;
  const assumed = tree.findEntry(params.assumeValid);
  const { bestHeader } = tree;
  return (
    assumed !== null &&
    assumed.ancestor(entry.height) === entry &&
    bestHeader.ancestor(entry.height) === entry &&
    bestHeader.chainwork >= params.minimumChainWork &&
    proofEquivalentTime(bestHeader, entry, bestHeader, params.powTargetSpacing) > BURIED_S
  );
}
