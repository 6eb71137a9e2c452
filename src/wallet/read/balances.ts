import type { UnspentCoin } from '../store/wallet-reads.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import { MATURE_DEPTH, type WalletView } from './wallet-view.ts';

/** Satoshis. */
export interface Balances {
  readonly trusted: number;
  readonly untrustedPending: number;
  readonly immature: number;
  /** Amount spent by transactions that are neither in a block nor in the mempool; negative. */
  readonly nonMempool: number;
  /** Amount on addresses that were spent from before; separate only on request. */
  readonly used: number;
}

export interface BalanceOptions {
  /** Minimum confirmations of trusted coins. */
  readonly minDepth: number;
  /** Whether coins on used addresses are separate. */
  readonly avoidReuse: boolean;
  /** Whether coins count that only a transaction outside of the mempool spends. */
  readonly includeNonMempool: boolean;
}

/** Core's GetBalance. Confirmed coins have a running total; the others are added up. */
export function balancesOf(view: WalletView, { minDepth, avoidReuse, includeNonMempool }: BalanceOptions): Balances {
  const { reads, tipHeight } = view;
  const sums = { trusted: 0, untrustedPending: 0, immature: 0, nonMempool: 0, used: 0 };
  const count = (coin: UnspentCoin, pendingSpend: boolean) => {
    const bucket = bucketOf(view, coin, minDepth);
    if (!bucket) return;
    sums[avoidReuse && reads.isUsed(coin.script) ? 'used' : bucket] += coin.value;
    if (pendingSpend) sums.nonMempool -= coin.value;
  };
  if (avoidReuse) for (const coin of reads.unspent()) count(coin, false);
  else {
    sums.immature = reads.unspentFrom(tipHeight - MATURE_DEPTH + 2, { coinbase: true });
    sums.trusted = reads.confirmedTotal() - sums.immature - tooShallow(view, minDepth);
    for (const coin of reads.unconfirmedUnspent()) count(coin, false);
  }
  if (includeNonMempool) for (const coin of reads.pendingSpends()) count(coin, true);
  return sums;
}

/** Confirmed and mature coins below the minimum depth. */
function tooShallow({ reads, tipHeight }: WalletView, minDepth: number): number {
  if (minDepth <= 1) return 0;
  const from = tipHeight - minDepth + 2;
  const young = reads.unspentFrom(from, { coinbase: false });
  return young - reads.unspentFrom(Math.max(from, tipHeight - MATURE_DEPTH + 2), { coinbase: true });
}

function bucketOf(view: WalletView, coin: UnspentCoin, minDepth: number) {
  const { state } = coin;
  if (state === TxStateCode.CONFIRMED) {
    if (view.isImmature(coin)) return 'immature' as const;
    return view.depth(coin) >= minDepth ? ('trusted' as const) : null;
  }
  if (view.isTrusted(view.reads.txs.byId(coin.tx))) return minDepth <= 0 ? ('trusted' as const) : null;
  return state === TxStateCode.MEMPOOL ? ('untrustedPending' as const) : null;
}
