import type { ChainEntry } from '../../chain/chain-entry.ts';
import { proofEquivalentTime } from '../../consensus/work.ts';
import type { PeerContext } from '../peer/context.ts';
import { isActive } from '../sync/availability.ts';

/** Blocks beside the chain are shown for a month: longer, they would tell nodes apart. */
const STALE_AGE_S = 30 * 24 * 60 * 60;

/** What peers may see: blocks of the chain; others only where they were valid once and are as new as a reorg could make them. */
export function maySee({ chain, params }: PeerContext, entry: ChainEntry): boolean {
  if (isActive(chain, entry)) return true;
  const best = chain.bestHeader;
  if (!entry.hasUndo || entry.failed) return false;
  return (
    best.time - entry.time < STALE_AGE_S &&
    proofEquivalentTime(best, entry, best, params.consensus.powTargetSpacing) < STALE_AGE_S
  );
}
