import type { Txid } from '../../primitives/hash.ts';
import { outpointKey } from '../../primitives/outpoint.ts';
import type { Steps } from '../../util/slices.ts';
import type { UnspentCoin } from '../store/wallet-reads.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletView } from './wallet-view.ts';

export interface CoinQuery {
  readonly minDepth: number;
  readonly maxDepth: number;
  /** Also unconfirmed coins from others, and coins of transactions that are being replaced. */
  readonly includeUnsafe: boolean;
  readonly includeImmature: boolean;
  /** Also locked coins. */
  readonly includeLocked?: boolean;
  /** Satoshis; null for no bound. */
  readonly minValue: number;
  readonly maxValue: number | null;
  /** The list ends at this sum, or at this number of coins; 0 for no bound. */
  readonly minSum: number | null;
  readonly maxCount: number;
}

export interface ListedCoin {
  readonly coin: UnspentCoin;
  readonly depth: number;
  readonly safe: boolean;
}

/** Conditions for a single coin. */
export type CoinCriteria = Omit<CoinQuery, 'minSum' | 'maxCount'>;

/** Returns the spendable coins in the order of transactions. Core's AvailableCoins. */
export function availableCoins(view: WalletView, query: CoinQuery): ListedCoin[] {
  const check = coinCheck(view, query);
  const found: ListedCoin[] = [];
  let sum = 0;
  for (const coin of view.reads.unspent()) {
    const available = check(coin);
    if (!available) continue;
    found.push(available);
    sum += coin.value;
    if (query.minSum !== null && sum >= query.minSum) break;
    if (query.maxCount > 0 && found.length >= query.maxCount) break;
  }
  return found;
}

/** Returns all spendable coins, a page of them in each step. The wallet may change between two steps. */
export function* availableCoinsSteps(view: WalletView, filter: CoinCriteria): Steps<ListedCoin[]> {
  const check = coinCheck(view, filter);
  const found: ListedCoin[] = [];
  for (const page of view.reads.unspentPages()) {
    for (const coin of page) {
      const available = check(coin);
      if (available) found.push(available);
    }
    yield;
  }
  return found;
}

/** Returns a function that yields null for a coin that fails a condition. The locked outpoints are read once. */
function coinCheck(view: WalletView, filter: CoinCriteria): (coin: UnspentCoin) => ListedCoin | null {
  const locked = new Set(view.reads.locked().map(outpointKey));
  return (coin) => {
    const { value, state } = coin;
    const depth = view.depth(coin);
    if (depth < Math.max(filter.minDepth, 0) || depth > filter.maxDepth) return null;
    if (state !== TxStateCode.CONFIRMED && state !== TxStateCode.MEMPOOL) return null;
    if (!filter.includeImmature && view.isImmature(coin)) return null;
    if (value < filter.minValue || (filter.maxValue !== null && value > filter.maxValue)) return null;
    const safe = depth > 0 || isSafe(view, coin);
    if (!safe && !filter.includeUnsafe) return null;
    const isLocked = locked.size > 0 && locked.has(outpointKey({ txid: coin.txid as Txid, vout: coin.vout }));
    return isLocked && !filter.includeLocked ? null : { coin, depth, safe };
  };
}

/** Transactions that replace another one, or are replaced, may still disappear. */
function isSafe(view: WalletView, { tx }: UnspentCoin): boolean {
  const record = view.reads.txs.byId(tx);
  return record.replaces === null && record.replacedBy === null && view.isTrusted(record);
}
