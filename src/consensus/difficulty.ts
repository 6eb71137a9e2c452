import { type ConsensusParams, retargetInterval } from './consensus-params.ts';
import type { HeaderEntry } from './header-entry.ts';
import { bitsFromTarget, expandBits } from './work.ts';

const MAX_UINT256 = (1n << 256n) - 1n;

/** Returns the `bits` that a child of `parent` with this `time` must have (Core's GetNextWorkRequired). */
export function nextWorkRequired(parent: HeaderEntry, time: number, params: ConsensusParams): number {
  const interval = retargetInterval(params);
  if ((parent.height + 1) % interval !== 0)
    return params.allowMinDifficultyBlocks ? testNetworkBits(parent, time, interval, params) : parent.bits;
  const first = parent.ancestor(parent.height - (interval - 1))!;
  return retarget(parent, first, params);
}

/**
 * Returns the bits of a block on a test network: the easiest after 20 minutes without a block, else those of the last
 * block that is not such an exception.
 */
function testNetworkBits(parent: HeaderEntry, time: number, interval: number, params: ConsensusParams): number {
  const easiest = bitsFromTarget(params.powLimit);
  if (time > parent.time + params.powTargetSpacing * 2) return easiest;
  let at = parent;
  while (at.parent !== null && at.height % interval !== 0 && at.bits === easiest) at = at.parent;
  return at.bits;
}

/** Returns the new `bits` from the duration of a period with these first and last blocks. */
export function retarget(
  last: { readonly time: number; readonly bits: number },
  first: { readonly time: number; readonly bits: number },
  params: ConsensusParams,
): number {
  if (params.noRetargeting) return last.bits;
  const { powTargetTimespan } = params;
  const least = Math.floor(powTargetTimespan / 4);
  const timespan = Math.min(Math.max(last.time - first.time, least), powTargetTimespan * 4);
  // BIP-94: the first block of a period never has the easiest target by the 20-minute rule, so it keeps the real
  // difficulty.
  const { target } = expandBits(params.enforceBip94 ? first.bits : last.bits);
  return bitsFromTarget(scaleTarget(target, timespan, params));
}

/**
 * Whether a header at `height` with `newBits` may follow one with `oldBits`, whatever their times: a retarget changes
 * the target at most fourfold. Used to validate header chains before their ancestors are known (Core's
 * PermittedDifficultyTransition).
 */
export function permittedDifficultyTransition(
  height: number,
  oldBits: number,
  newBits: number,
  params: ConsensusParams,
): boolean {
  if (params.allowMinDifficultyBlocks) return true;
  if (height % retargetInterval(params) !== 0) return oldBits === newBits;
  const { powTargetTimespan } = params;
  const oldTarget = expandBits(oldBits).target;
  const newTarget = expandBits(newBits).target;
  // Rounded through the compact form, as in a retarget.
  const easiest = expandBits(bitsFromTarget(scaleTarget(oldTarget, powTargetTimespan * 4, params))).target;
  if (newTarget > easiest) return false;
  const least = Math.floor(powTargetTimespan / 4);
  const hardest = expandBits(bitsFromTarget(scaleTarget(oldTarget, least, params))).target;
  return newTarget >= hardest;
}

/** Returns `target * timespan / powTargetTimespan` in 256-bit arithmetic, capped to the limit. */
function scaleTarget(target: bigint, timespan: number, { powTargetTimespan, powLimit }: ConsensusParams): bigint {
  const scaled = ((target * BigInt(timespan)) & MAX_UINT256) / BigInt(powTargetTimespan);
  return scaled > powLimit ? powLimit : scaled;
}
