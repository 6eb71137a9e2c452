import type { ChainEntry } from '../chain/chain-entry.ts';
import type { BumpFees } from '../mempool/bump-fees.ts';
import type { BroadcastResult } from '../mempool/client-submissions.ts';
import type { Amount } from '../primitives/amount.ts';
import type { ParsedBlock, ParsedTransaction } from '../primitives/block.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { ChainReads } from '../storage/chain-reads.ts';

/** The chain as wallets use it. */
export interface WalletChain {
  /** Last block whose state the readers see. */
  readonly tip: ChainEntry;
  readonly initialSync: boolean;
  /** Lowest height from which on all blocks are stored; null if none has been pruned or is missing. */
  readonly pruneHeight: number | null;
  /** Height of a loaded UTXO set that is not validated yet; null without one. */
  readonly loadedHeight: number | null;
  /** Whether an index is being built, in which wallets will find their history faster than in the blocks. */
  readonly buildingIndexes: boolean;
  get(hash: Uint8Array): ChainEntry | null;
  /** Reads of the same chain on a separate connection. */
  reads(): ChainReads;
}

/** The mempool as wallets use it. */
export interface WalletMempool {
  has(txid: Uint8Array): boolean;
  /** Txids in the order of arrival. */
  txids(): Uint8Array[];
  get(txid: Uint8Array): ParsedTransaction | null;
  /** Submits a transaction and relays it to all peers. */
  broadcast(raw: Uint8Array): Promise<BroadcastResult>;
  /** Reports that a wallet has abandoned transactions, so that clients are notified. */
  abandoned(wallet: string, txids: readonly Uint8Array[]): void;
  /** Ancestors and cluster of a transaction in the mempool; null where it is not there. */
  standing(txid: Uint8Array): MempoolStanding | null;
  /** Fees that raise the unconfirmed ancestors of coins to a feerate, satoshis per 1,000 virtual bytes. */
  bumpFees(outpoints: readonly Outpoint[], feerate: Amount): BumpFees;
  /** Returns whether a transaction of this weight that spends these coins stays within the cluster limits. */
  hasRoom(spent: readonly Outpoint[], weight: number): boolean;
}

export interface MempoolStanding {
  /** Including the transaction itself. */
  readonly ancestors: number;
  readonly clusterCount: number;
  readonly hasDescendants: boolean;
}

/** Fees of wallet transactions, satoshis per 1,000 virtual bytes. */
export interface WalletFees {
  /** Returns 0 without an estimate. */
  estimate(target: number, conservative: boolean): number;
  /** Used without an estimate; 0 disables it. */
  readonly fallback: number;
  readonly mempoolMin: number;
  readonly relayMin: number;
  readonly incremental: number;
  readonly dust: number;
}

/** A change of the active chain that was committed. */
export interface WalletMove {
  /** Disconnected blocks, the highest first. */
  readonly disconnected: readonly ChainEntry[];
  /** Connected blocks, the lowest first. */
  readonly connected: readonly ChainEntry[];
  /** Bodies of the connected blocks; null where there are too many, so that the index is read instead. */
  readonly bodies: readonly ParsedBlock[] | null;
  readonly tip: ChainEntry;
}
