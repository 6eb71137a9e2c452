import { type Amount, formatCoins } from '../primitives/amount.ts';

/** A feerate as fee and size, without rounding. */
export interface PaidFeerate {
  readonly fee: Amount;
  /** Size in virtual bytes. */
  readonly vsize: number;
}

const VBYTES_PER_KVB = 1000n;

/**
 * Returns the fee in satoshis of `vsize` virtual bytes at a feerate in satoshis per 1,000 vB, rounded up, so that no
 * transaction is free. A negative fee that would round to zero is -1.
 */
export function feeForSize(feeratePerKvB: Amount, vsize: number): Amount {
  const product = feeratePerKvB * BigInt(vsize);
  if (product > 0n) return (product + VBYTES_PER_KVB - 1n) / VBYTES_PER_KVB;
  // Division truncates towards zero, which is upwards here.
  const fee = product / VBYTES_PER_KVB;
  return fee === 0n && product < 0n ? -1n : fee;
}

/** Returns satoshis per 1,000 virtual bytes, rounded down; 0 for no bytes. */
export function feeratePerKvB({ fee, vsize }: PaidFeerate): Amount {
  if (vsize <= 0) return 0n;
  const product = fee * VBYTES_PER_KVB;
  const size = BigInt(vsize);
  const quotient = product / size;
  return product < 0n && quotient * size !== product ? quotient - 1n : quotient;
}

/** Formats a feerate (satoshis per 1,000 vB) as Core's CFeeRate::ToString, in coins. */
export function feerateText(feerate: Amount): string {
  return `${formatCoins(feerate)} BTC/kvB`;
}
