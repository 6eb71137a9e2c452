import { WITNESS_SCALE_FACTOR } from '../consensus/limits.ts';

/**
 * What counts as a transaction's weight here: that of BIP-141, or what its sigops amount to where that is more, as a
 * block can run out of either.
 */
export function adjustedWeight(weight: number, sigopCost: number, bytesPerSigop: number): number {
  return Math.max(weight, sigopCost * bytesPerSigop);
}

/** Virtual bytes of the adjusted weight, rounded up. */
export function virtualSize(weight: number, sigopCost: number, bytesPerSigop: number): number {
  return Math.ceil(adjustedWeight(weight, sigopCost, bytesPerSigop) / WITNESS_SCALE_FACTOR);
}
