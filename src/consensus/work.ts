import { assert } from '../util/assert.ts';

const MAX_UINT256 = (1n << 256n) - 1n;

/** An expanded target, with the two faults that the compact form can have. */
export interface ExpandedBits {
  readonly target: bigint;
  readonly negative: boolean;
  readonly overflow: boolean;
}

/** Expands the compact form of a target (nBits): one byte of size and three of mantissa, whose top bit is the sign. */
export function expandBits(bits: number): ExpandedBits {
  const size = bits >>> 24;
  const mantissa = bits & 0x007f_ffff;
  const word = size <= 3 ? mantissa >>> (8 * (3 - size)) : mantissa;
  const target = size <= 3 ? BigInt(word) : (BigInt(word) << BigInt(8 * (size - 3))) & MAX_UINT256;
  return {
    target,
    negative: word !== 0 && (bits & 0x0080_0000) !== 0,
    overflow: word !== 0 && (size > 34 || (word > 0xff && size > 33) || (word > 0xffff && size > 32)),
  };
}

/** Returns the compact form of a target, rounded down to its three leading bytes. */
export function bitsFromTarget(target: bigint): number {
  assert(target >= 0n && target <= MAX_UINT256, 'a target has 256 bits');
  let size = target === 0n ? 0 : (target.toString(16).length + 1) >> 1;
  let mantissa = size <= 3 ? Number(target) << (8 * (3 - size)) : Number(target >> BigInt(8 * (size - 3)));
  // The top bit of the mantissa is the sign.
  if (mantissa & 0x0080_0000) {
    mantissa >>= 8;
    size++;
  }
  return ((size << 24) | mantissa) >>> 0;
}

/** Returns the target of `bits`; null if they are negative, zero, too large or easier than the limit. */
export function deriveTarget(bits: number, powLimit: bigint): bigint | null {
  const { target, negative, overflow } = expandBits(bits);
  return negative || overflow || target === 0n || target > powLimit ? null : target;
}

/** Returns the expected number of hashes for a block with these `bits`: 2^256 / (target + 1); zero for invalid bits. */
export function workOf(bits: number): bigint {
  const { target, negative, overflow } = expandBits(bits);
  if (negative || overflow || target === 0n) return 0n;
  return (1n << 256n) / (target + 1n);
}

/** Whether the hash as a little-endian number is at most the target. */
export function hashMeetsTarget(hash: Uint8Array, target: bigint): boolean {
  return BigInt(`0x${hash.toReversed().toHex()}`) <= target;
}

/** Whether `bits` are a valid target of this chain and the hash meets it. */
export function checkProofOfWork(hash: Uint8Array, bits: number, powLimit: bigint): boolean {
  const target = deriveTarget(bits, powLimit);
  return target !== null && hashMeetsTarget(hash, target);
}

/**
 * Returns the difficulty relative to the easiest target of the main network, in the steps of Core's `GetDifficulty`, so
 * that the double is identical.
 */
export function difficultyOf(bits: number): number {
  let difficulty = 0xffff / (bits & 0x00ff_ffff);
  let shift = bits >>> 24;
  for (; shift < 29; shift++) difficulty *= 256;
  for (; shift > 29; shift--) difficulty /= 256;
  return difficulty;
}

/** Formats a target or chainwork as 64 hex digits, most significant first. */
export function targetToHex(target: bigint): string {
  return target.toString(16).padStart(64, '0');
}

/**
 * Returns the time to redo the work between two chains at the rate of the tip's difficulty, seconds; negative if `to`
 * has less work than `from`. Infinite where Core's 64-bit number saturates.
 */
export function proofEquivalentTime(
  to: { readonly chainwork: bigint },
  from: { readonly chainwork: bigint },
  tip: { readonly bits: number },
  powTargetSpacing: number,
): number {
  const ahead = to.chainwork > from.chainwork;
  const difference = ahead ? to.chainwork - from.chainwork : from.chainwork - to.chainwork;
  const seconds = (difference * BigInt(powTargetSpacing)) / workOf(tip.bits);
  const magnitude = seconds >> 63n ? Number.POSITIVE_INFINITY : Number(seconds);
  return ahead ? magnitude : 0 - magnitude;
}
