import { type ConsensusParams, retargetInterval } from './consensus-params.ts';
import type { HeaderEntry } from './header-entry.ts';
import { bitsFromTarget, expandBits } from './work.ts';

const MAX_UINT256 = (1n << 256n) - 1n;

/** The `bits` that the child of `parent` must have when its header says `time`. */
export function nextWorkRequired(parent: HeaderEntry, time: number, params: ConsensusParams): number {
  const interval = retargetInterval(params);
  if ((parent.height + 1) % interval !== 0)
    return params.allowMinDifficultyBlocks ? testNetworkBits(parent, time, interval, params) : parent.bits;
  const first = parent.ancestor(parent.height - (interval - 1))!;
  return retarget(parent, first, params);
}

/** Test networks let a block that comes 20 minutes late be easy; the next one goes back to the difficulty before. */
function testNetworkBits(parent: HeaderEntry, time: number, interval: number, params: ConsensusParams): number {
  const easiest = bitsFromTarget(params.powLimit);
  if (time > parent.time + params.powTargetSpacing * 2) return easiest;
  let at = parent;
  while (at.parent !== null && at.height % interval !== 0 && at.bits === easiest) at = at.parent;
  return at.bits;
}

/** New `bits` from the time that the period between `first` and `last`, both of it, took. */
export function retarget(
  last: { readonly time: number; readonly bits: number },
  first: { readonly time: number; readonly bits: number },
  params: ConsensusParams,
): number {
  if (params.noRetargeting) return last.bits;
  const { powTargetTimespan } = params;
  const least = Math.floor(powTargetTimespan / 4);
  const timespan = Math.min(Math.max(last.time - first.time, least), powTargetTimespan * 4);
  // BIP-94: the first block of a period may not be an easy one, so it keeps the real difficulty.
  const { target } = expandBits(params.enforceBip94 ? first.bits : last.bits);
  return bitsFromTarget(scaleTarget(target, timespan, params));
}

/**
 * Whether a header at `height` with `newBits` may follow one with `oldBits`, whatever their times: a period changes the
 * target at most fourfold. Lets a chain of headers be judged before its ancestors are known.
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
  // Rounded through the compact form, as a real retarget is.
  const easiest = expandBits(bitsFromTarget(scaleTarget(oldTarget, powTargetTimespan * 4, params))).target;
  if (newTarget > easiest) return false;
  const least = Math.floor(powTargetTimespan / 4);
  const hardest = expandBits(bitsFromTarget(scaleTarget(oldTarget, least, params))).target;
  return newTarget >= hardest;
}

/** `target * timespan / powTargetTimespan` in 256-bit arithmetic, at most the limit. */
function scaleTarget(target: bigint, timespan: number, { powTargetTimespan, powLimit }: ConsensusParams): bigint {
  const scaled = ((target * BigInt(timespan)) & MAX_UINT256) / BigInt(powTargetTimespan);
  return scaled > powLimit ? powLimit : scaled;
}
