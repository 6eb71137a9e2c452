import type { ChainEntry } from '../../chain/chain-entry.ts';
import { proofEquivalentTime } from '../../consensus/work.ts';
import type { PeerContext } from '../peer/peer-context.ts';
import { isActive } from '../sync/availability.ts';

/** Age limit for serving blocks outside the active chain, seconds; older ones would fingerprint the node. */
const STALE_AGE_S = 30 * 24 * 60 * 60;

/**
 * Core's BlockRequestAllowed: returns whether peers may request a block. Blocks outside the active chain must have been
 * valid and recent.
 */
export function isBlockRequestAllowed({ chain, params }: PeerContext, entry: ChainEntry): boolean {
  if (isActive(chain, entry)) return true;
  const best = chain.bestHeader;
  if (!entry.wasConnected || entry.failed) return false;
  return (
    best.time - entry.time < STALE_AGE_S &&
    proofEquivalentTime(best, entry, best, params.consensus.powTargetSpacing) < STALE_AGE_S
  );
}
