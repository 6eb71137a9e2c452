import type { BlockHash } from '../primitives/hash.ts';
import { MEDIAN_TIME_SPAN } from './limits.ts';

/** A block index entry, as the rules read it. */
export interface HeaderEntry {
  readonly hash: BlockHash;
  /** The version as a signed number. */
  readonly version: number;
  readonly time: number;
  readonly bits: number;
  readonly height: number;
  readonly parent: HeaderEntry | null;
  /** Work of the chain up to and including this header. */
  readonly chainwork: bigint;
  /** Returns the ancestor at a height, or this entry; null above its own height and below zero. */
  ancestor(height: number): HeaderEntry | null;
}

/** Scratch space of one call. */
const times = new Float64Array(MEDIAN_TIME_SPAN);

/**
 * Returns the median time past, Unix seconds: the median of the times of this block and the ten before it; the upper
 * one of the two middle times if there are fewer blocks and an even number.
 */
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
