import type { TxPosition } from '../primitives/coin.ts';
import type { ChainReads } from './chain-reads.ts';
import type { CoinStatsStore } from './coin-stats-store.ts';
import type { CoinStore } from './coin-store.ts';
import type { EventStore } from './event-store.ts';
import type { FilterStore } from './filter-store.ts';
import type { HeaderRecord, HeaderStore } from './header-store.ts';
import type { IndexStore } from './index-store.ts';
import type { MetaStore } from './meta-store.ts';
import type { ScriptStore } from './script-store.ts';
import type { SpenderStore } from './spender-store.ts';
import type { TxRecord } from './tx-store.ts';

/** The public members of a class, which an object of another class may have as well. */
type PublicOf<T> = Pick<T, keyof T>;

/** Transactions of the active chain, as `TxStore` reads them. */
export interface TxRows {
  byTxid(txid: Uint8Array): TxRecord | null;
  byPosition(position: TxPosition): TxRecord | null;
  ofBlock(height: number): readonly TxRecord[];
  range(from: TxPosition, to: TxPosition): readonly TxRecord[];
  txidsOfBlock(height: number): Uint8Array;
}

/** Headers and the active chain, as `HeaderStore` reads them. */
export type HeaderRows = Omit<PublicOf<HeaderStore>, 'sumPages'> & {
  readonly sumPages: PublicOf<HeaderStore['sumPages']>;
};

/** The address index, as `ScriptStore` reads it. */
export type ScriptRows = PublicOf<ScriptStore>;

/**
 * A chain that answers read: that of a node (`ChainReads`), or the rows of a sink. The names of its members, and what they
 * return, are those of `ChainReads`.
 */
export interface ChainSource
  extends Pick<
    ChainReads,
    | 'dir'
    | 'snapshot'
    | 'snapshotWithState'
    | 'state'
    | 'openCoinRuns'
    | 'tip'
    | 'pruneHeight'
    | 'isCovered'
    | 'rawBlock'
    | 'rawBlockPart'
    | 'rawUndo'
    | 'expectRows'
    | 'firstHeightSince'
  > {
  readonly headers: HeaderRows;
  readonly txs: TxRows;
  readonly coins: PublicOf<CoinStore>;
  readonly scripts: ScriptRows;
  readonly events: PublicOf<EventStore>;
  readonly meta: PublicOf<MetaStore>;
  readonly filters: PublicOf<FilterStore>;
  readonly indexes: PublicOf<IndexStore>;
  readonly spenders: PublicOf<SpenderStore>;
  readonly coinStats: PublicOf<CoinStatsStore>;
  /** Returns the size of a transaction, bytes, without reading it. */
  sizeOfTx(record: TxRecord): number;
  rawTx(record: TxRecord): { block: HeaderRecord; raw: Uint8Array };
  transaction(record: TxRecord): ReturnType<ChainReads['transaction']>;
}
