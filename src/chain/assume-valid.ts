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
export function assumedValid(entry: ChainEntry, tree: HeaderTree, params: ConsensusParams): boolean {
  if (params.assumeValid === null) return false;
  const assumed = tree.get(params.assumeValid);
  const { best } = tree;
  return (
    assumed !== null &&
    assumed.ancestor(entry.height) === entry &&
    best.ancestor(entry.height) === entry &&
    best.chainwork >= params.minimumChainWork &&
    proofEquivalentTime(best, entry, best, params.powTargetSpacing) > BURIED_S
  );
}
