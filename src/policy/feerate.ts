import { type Amount, COIN } from '../primitives/amount.ts';

/** A feerate as it was paid, which loses nothing to rounding. */
export interface PaidFeerate {
  readonly fee: Amount;
  /** Virtual bytes. */
  readonly vsize: number;
}

const VBYTES_PER_KVB = 1000n;

/**
 * What `vsize` virtual bytes cost at a feerate (satoshis per 1,000 vB), rounded up, so that no part of a transaction
 * is ever free. Below zero, where rounding up would reach zero, it stays at -1.
 */
export function feeForSize(feeratePerKvB: Amount, vsize: number): Amount {
  const product = feeratePerKvB * BigInt(vsize);
  if (product > 0n) return (product + VBYTES_PER_KVB - 1n) / VBYTES_PER_KVB;
  // Division cuts towards zero, which is upwards here.
  const fee = product / VBYTES_PER_KVB;
  return fee === 0n && product < 0n ? -1n : fee;
}

/** Satoshis for 1,000 virtual bytes, rounded down; 0 for no bytes. */
export function feeratePerKvB({ fee, vsize }: PaidFeerate): Amount {
  if (vsize <= 0) return 0n;
  const product = fee * VBYTES_PER_KVB;
  const size = BigInt(vsize);
  const quotient = product / size;
  return product < 0n && quotient * size !== product ? quotient - 1n : quotient;
}

/** A feerate (satoshis per 1,000 vB) as Core's messages show it, in coins. */
export function feerateText(feerate: Amount): string {
  const magnitude = feerate < 0n ? -feerate : feerate;
  const sign = feerate < 0n ? '-' : '';
  return `${sign}${magnitude / COIN}.${(magnitude % COIN).toString().padStart(8, '0')} BTC/kvB`;
}
