import { WITNESS_SCALE_FACTOR } from '../consensus/limits.ts';

/** Virtual size that each signature operation counts at least, without a setting. */
export const DEFAULT_BYTES_PER_SIGOP = 20;

/**
 * Returns the sigop-adjusted weight: the weight of BIP-141, or the weight of its sigops if that is more, since a block
 * can run out of either.
 */
export function adjustedWeight(weight: number, sigopCost: number, bytesPerSigop: number): number {
  return Math.max(weight, sigopCost * bytesPerSigop);
}

/** Returns the size in virtual bytes of the adjusted weight, rounded up. */
export function virtualSize(weight: number, sigopCost: number, bytesPerSigop: number): number {
  return Math.ceil(adjustedWeight(weight, sigopCost, bytesPerSigop) / WITNESS_SCALE_FACTOR);
}
