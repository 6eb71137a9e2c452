import type { ChainEntry } from '../chain/chain-entry.ts';
import type { BumpFees } from '../mempool/bump-fees.ts';
import type { BroadcastResult } from '../mempool/service.ts';
import type { Amount } from '../primitives/amount.ts';
import type { ParsedBlock, ParsedTransaction } from '../primitives/block.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { ChainReads } from '../storage/chain-reads.ts';

/** The chain as wallets see it. */
export interface WalletChain {
  /** The last block whose state readers see. */
  readonly tip: ChainEntry;
  readonly initialSync: boolean;
  get(hash: Uint8Array): ChainEntry | null;
  /** Reads of the same chain, on a connection of their own. */
  reads(): ChainReads;
}

/** The mempool as wallets see it. */
export interface WalletMempool {
  has(txid: Uint8Array): boolean;
  /** Txids in the order of arrival. */
  txids(): Uint8Array[];
  get(txid: Uint8Array): ParsedTransaction | null;
  /** Hands a transaction in, for all peers. */
  broadcast(raw: Uint8Array): Promise<BroadcastResult>;
  /** A wallet has given up transactions, so that clients can be told. */
  abandoned(wallet: string, txids: readonly Uint8Array[]): void;
  /** What a transaction stands on there, and hangs together with; null where it is not there. */
  standing(txid: Uint8Array): MempoolStanding | null;
  /** What lifts that which coins stand on there to a feerate, satoshis per 1,000 virtual bytes. */
  bumpFees(outpoints: readonly Outpoint[], feerate: Amount): BumpFees;
  /** Whether a transaction of this weight that spends these coins would hang together with no more than may there. */
  hasRoom(spent: readonly Outpoint[], weight: number): boolean;
}

export interface MempoolStanding {
  /** Itself included. */
  readonly ancestors: number;
  readonly clusterCount: number;
  readonly hasDescendants: boolean;
}

/** What transactions of wallets pay. Satoshis per 1,000 virtual bytes. */
export interface WalletFees {
  /** 0 where nothing is known. */
  estimate(target: number, conservative: boolean): number;
  /** For when nothing is known; 0 for none. */
  readonly fallback: number;
  readonly mempoolMin: number;
  readonly relayMin: number;
  readonly incremental: number;
  readonly dust: number;
}

/** A committed move of the chain. */
export interface WalletMove {
  /** Blocks that left it, the highest first. */
  readonly disconnected: readonly ChainEntry[];
  /** Blocks that joined it, the lowest first. */
  readonly connected: readonly ChainEntry[];
  /** Of those that joined; null where there are so many that the index is asked instead. */
  readonly bodies: readonly ParsedBlock[] | null;
  readonly tip: ChainEntry;
}
