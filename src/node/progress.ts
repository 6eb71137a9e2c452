import type { NetworkParams } from '../params/network-params.ts';

/**
 * The share of all transactions up to now that are validated, 0 to 1, as Core estimates it: from a known point of the
 * chain on they are taken to come at a constant rate.
 */
export function verificationProgress(
  tip: { readonly time: number; readonly txs: number },
  { chainTxData }: NetworkParams,
  now: number,
): number {
  const { time, count, rate } = chainTxData;
  const from = tip.txs <= count ? { txs: count, time } : tip;
  const total = from.txs + Math.max(0, now - from.time) * rate;
  return total <= 0 ? 0 : Math.min(tip.txs / total, 1);
}
