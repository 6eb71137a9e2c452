/** Runs of similar size that are merged at once. Each entry is written once per power of this number. */
export const MERGE_FAN_IN = 8;
const SMALLEST_TIER = 4096;

/** Returns the tier of a run: those of one tier are merged with each other. */
function tierOf(bytes: number): number {
  return bytes < SMALLEST_TIER ? 0 : 1 + Math.floor(Math.log2(bytes / SMALLEST_TIER) / Math.log2(MERGE_FAN_IN));
}

/**
 * Returns how many of the youngest runs are to be merged, given the sizes of all runs in bytes, the oldest first; 0 if
 * none are. Only neighbours are merged, since the youngest entry of a key counts. A run that is older than a larger one
 * belongs to the tier of the latter; otherwise a large run would be written again with every few small ones.
 */
export function dueMerge(sizes: readonly number[]): number {
  let tier = 0;
  let inTier = 0;
  for (let i = sizes.length - 1; i >= 0; i--) {
    const own = tierOf(sizes[i]!);
    if (own > tier) {
      if (inTier >= MERGE_FAN_IN) return sizes.length - 1 - i;
      tier = own;
      inTier = 0;
    }
    inTier++;
  }
  return inTier >= MERGE_FAN_IN ? sizes.length : 0;
}
