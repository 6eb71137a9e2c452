import type { RandomBelow } from '../../util/random.ts';

/** Seconds after which a tip is too old to build on by height. */
const MAX_TIP_AGE = 8 * 60 * 60;

/** The tip as wallets see it. */
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
 * A locktime that only the next block may include, so that mining the last one again earns nothing more; now and then
 * an earlier one, so that delayed transactions do not stand out. 0 where the tip is old.
 */
export function antiSnipingLocktime({ height, isCurrent }: SnipingTip, random: RandomBelow): number {
  if (!isCurrent) return 0;
  return random(10) === 0 ? Math.max(0, height - random(100)) : height;
}
