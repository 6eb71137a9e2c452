import type { Txid } from '../../primitives/hash.ts';
import { outpointKey } from '../../primitives/outpoint.ts';
import type { UnspentCoin } from '../store/wallet-reads.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletView } from './wallet-view.ts';

export interface CoinQuery {
  readonly minDepth: number;
  readonly maxDepth: number;
  /** Also what others have sent and no block has yet, and what is being replaced. */
  readonly includeUnsafe: boolean;
  readonly includeImmature: boolean;
  /** Also coins that are locked. */
  readonly includeLocked?: boolean;
  /** Satoshis; null sets no bound. */
  readonly minValue: number;
  readonly maxValue: number | null;
  /** Enough when they come to so much, or are so many; 0 sets no bound. */
  readonly minSum: number | null;
  readonly maxCount: number;
}

export interface AvailableCoin {
  readonly coin: UnspentCoin;
  readonly depth: number;
  readonly safe: boolean;
}

/** Coins that could be spent now, in the order of transactions. Core's AvailableCoins. */
export function availableCoins(view: WalletView, query: CoinQuery): AvailableCoin[] {
  const { reads } = view;
  const locked = new Set(reads.locked().map(outpointKey));
  const found: AvailableCoin[] = [];
  let sum = 0;
  for (const coin of reads.unspent()) {
    const { value, state } = coin;
    const depth = view.depth(coin);
    if (depth < Math.max(query.minDepth, 0) || depth > query.maxDepth) continue;
    if (state !== TxStateCode.CONFIRMED && state !== TxStateCode.MEMPOOL) continue;
    if (!query.includeImmature && view.isImmature(coin)) continue;
    if (value < query.minValue || (query.maxValue !== null && value > query.maxValue)) continue;
    const safe = depth > 0 || isSafe(view, coin);
    if (!safe && !query.includeUnsafe) continue;
    const isLocked = locked.size > 0 && locked.has(outpointKey({ txid: coin.txid as Txid, vout: coin.vout }));
    if (isLocked && !query.includeLocked) continue;
    found.push({ coin, depth, safe });
    sum += value;
    if (query.minSum !== null && sum >= query.minSum) break;
    if (query.maxCount > 0 && found.length >= query.maxCount) break;
  }
  return found;
}

/** What replaces another, or is replaced, may yet be gone. */
function isSafe(view: WalletView, { tx }: UnspentCoin): boolean {
  const record = view.reads.txs.byId(tx);
  return record.replaces === null && record.replacedBy === null && view.isTrusted(record);
}
