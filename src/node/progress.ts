import type { NetworkParams } from '../params/network-params.ts';

/** A tip this recent is judged by the headers ahead of it, not by its own time, which its miner chose. */
const RECENT_S = 2 * 3600;

/**
 * The share of all transactions up to now that are validated, 0 to 1, as Core estimates it: from a known point of the
 * chain on they are taken to come at a constant rate. `ahead` is how many headers are known beyond the tip.
 */
export function verificationProgress(
  tip: { readonly time: number; readonly txs: number; readonly ahead: number },
  { chainTxData, consensus }: Pick<NetworkParams, 'chainTxData' | 'consensus'>,
  now: number,
): number {
  const { time, count, rate } = chainTxData;
  const isRecent = Math.abs(now - tip.time) <= RECENT_S && tip.ahead >= 0;
  const tipTime = isRecent ? now - tip.ahead * consensus.powTargetSpacing : tip.time;
  const from = tip.txs <= count ? { txs: count, time } : { txs: tip.txs, time: tipTime };
  const total = from.txs + (now - from.time) * rate;
  return total <= 0 ? 0 : Math.min(tip.txs / total, 1);
}
