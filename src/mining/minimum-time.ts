import { type ConsensusParams, retargetInterval } from '../consensus/consensus-params.ts';
import { type HeaderEntry, medianTimePast } from '../consensus/header-entry.ts';
import { MAX_TIMEWARP } from '../consensus/limits.ts';

/**
 * Seconds; the earliest time the child of `parent` is given. On all networks the first block of a period does not begin
 * long before the last one of the period before (BIP-94), so that it stays valid where that becomes a rule.
 */
export function minimumTime(parent: HeaderEntry, params: ConsensusParams): number {
  const earliest = medianTimePast(parent) + 1;
  const isFirstOfPeriod = (parent.height + 1) % retargetInterval(params) === 0;
  return isFirstOfPeriod ? Math.max(earliest, parent.time - MAX_TIMEWARP) : earliest;
}
