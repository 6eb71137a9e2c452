import type { BlockHash } from '../primitives/hash.ts';
import { MEDIAN_TIME_SPAN } from './limits.ts';

/** A header in its place in the tree of headers: what rules read of it. */
export interface HeaderEntry {
  readonly hash: BlockHash;
  /** Signed. */
  readonly version: number;
  readonly time: number;
  readonly bits: number;
  readonly height: number;
  readonly parent: HeaderEntry | null;
  /** Work of the chain up to and with this header. */
  readonly chainwork: bigint;
  /** The ancestor (or itself) at a height; null above its own height and below zero. */
  ancestor(height: number): HeaderEntry | null;
}

const times = new Float64Array(MEDIAN_TIME_SPAN);

/** Median of the times of this block and the ten before it (the upper one where the count is even), in seconds. */
export function medianTimePast(entry: HeaderEntry): number {
  let count = 0;
  for (let at: HeaderEntry | null = entry; at !== null && count < MEDIAN_TIME_SPAN; at = at.parent) {
    const { time } = at;
    let slot = count++;
    for (; slot > 0 && times[slot - 1]! > time; slot--) times[slot] = times[slot - 1]!;
    times[slot] = time;
  }
  return times[count >> 1]!;
}
