import type { RandomBelow } from '../../util/random.ts';

/** Age of a tip, seconds, above which its height is not used as a locktime. */
const MAX_TIP_AGE = 8 * 60 * 60;

/** The tip of the active chain, as a wallet sees it. */
export interface SnipingTip {
  readonly height: number;
  /** Whether it is recent enough, see `isCurrentTip`. */
  readonly isCurrent: boolean;
}

/** `tipTime` and `now` in seconds. */
export function isCurrentTip(tipTime: number, now: number, inInitialDownload: boolean): boolean {
  return !inInitialDownload && tipTime >= now - MAX_TIP_AGE;
}

/**
 * Returns a locktime that only the next block may include, so that mining the last block again earns nothing more. One
 * in ten times it is an earlier one, so that delayed transactions do not stand out. Returns 0 if the tip is old.
 */
export function antiSnipingLocktime({ height, isCurrent }: SnipingTip, random: RandomBelow): number {
  if (!isCurrent) return 0;
  return random(10) === 0 ? Math.max(0, height - random(100)) : height;
}
