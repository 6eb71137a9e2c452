import { type ConsensusParams, retargetInterval } from '../consensus/consensus-params.ts';
import { type HeaderEntry, medianTimePast } from '../consensus/header-entry.ts';
import { MAX_TIMEWARP } from '../consensus/limits.ts';

/**
 * Returns the least time of a child of `parent`, Unix seconds. On all networks it respects the timewarp rule of BIP-94
 * at the first block of a period, so that the block stays valid if that becomes a rule (Core's GetMinimumTime).
 */
export function minimumTime(parent: HeaderEntry, params: ConsensusParams): number {
  const earliest = medianTimePast(parent) + 1;
  const isFirstOfPeriod = (parent.height + 1) % retargetInterval(params) === 0;
  return isFirstOfPeriod ? Math.max(earliest, parent.time - MAX_TIMEWARP) : earliest;
}
