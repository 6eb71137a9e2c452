import type { NetworkParams } from '../params/network-params.ts';

/**
 * For a tip no older than this, progress is estimated from the headers ahead of it. Its own time was chosen by its
 * miner.
 */
const RECENT_S = 2 * 3600;

/**
 * Returns the estimated share of all transactions that are validated, 0 to 1, as in Core: from a known block on they
 * are assumed to come at a constant rate. `ahead`: number of headers beyond the tip.
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
