import { MAX_FUTURE_BLOCK_TIME } from '../consensus/limits.ts';
import type { SandboxTip } from './sandbox-chain.ts';

/** Seconds between the first blocks of the sandbox. */
const SEED_SPACING = 600;

type TipTimes = Pick<SandboxTip, 'time' | 'medianTimePast'>;

/**
 * Returns the time of the next block: now, unless the chain is ahead. Null where the chain is further ahead of the
 * clock than a block may be.
 */
export function liveBlockTime(tip: TipTimes, now: number): number | null {
  const time = Math.max(now, tip.medianTimePast + 1);
  return time > now + MAX_FUTURE_BLOCK_TIME ? null : time;
}

/**
 * Returns the time of one of the first blocks: about ten minutes after its parent, so that the last of the `remaining`
 * ones (this one included) has the time `now`. `jitter` from 0 to 1 moves it up to five minutes back.
 */
export function seedBlockTime(tip: TipTimes, remaining: number, now: number, jitter: number): number | null {
  const ideal = now - (remaining - 1) * SEED_SPACING - (remaining > 1 ? Math.floor((jitter * SEED_SPACING) / 2) : 0);
  const earliest = Math.max(tip.time, tip.medianTimePast) + 1;
  if (ideal >= earliest) return ideal;
  // Where other blocks were mined in between, the remaining time is divided evenly.
  const step = Math.floor((now - tip.time) / remaining);
  return step >= 1 ? Math.max(tip.time + step, earliest) : liveBlockTime(tip, now);
}

/**
 * Returns the milliseconds from `nowMs` until the block after `tip` is due; at most one interval, even when the clock
 * was set back.
 */
export function untilDueMs(tip: TipTimes, intervalSeconds: number, nowMs: number): number {
  const intervalMs = intervalSeconds * 1000;
  return Math.min(Math.max(tip.time * 1000 + intervalMs - nowMs, 0), intervalMs);
}
