import type { Amount } from '../primitives/amount.ts';
import type { TxPosition } from '../primitives/coin.ts';
import type { BlockHash } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { Transaction } from '../primitives/transaction.ts';

/** The last block, and the header fields of the next one. */
export interface SandboxTip {
  readonly hash: BlockHash;
  readonly height: number;
  readonly medianTimePast: number;
  readonly time: number;
  readonly nextBits: number;
  readonly nextVersion: number;
}

export interface SandboxCoin {
  readonly outpoint: Outpoint;
  readonly value: Amount;
  readonly position: TxPosition;
}

/** The blocks below the tip, which scenarios need in addition. */
export interface ScenarioChain extends SandboxChain {
  /** Returns a block of the active chain. */
  at(height: number): SandboxTip | null;
  /** Returns any known block. */
  facts(hash: BlockHash): SandboxTip | null;
  /** Returns the transactions of a block without its coinbase. */
  transactionsOf(hash: BlockHash): readonly Transaction[];
}

/** The interface of a node that the sandbox uses. The sandbox keeps no state of its own. */
export interface SandboxChain {
  tip(): SandboxTip;
  /**
   * Returns at most `limit` outputs of the active chain that pay this script and are unspent there and in the mempool.
   * Immature coinbases are included.
   */
  coinsOf(script: Uint8Array, limit: number): readonly SandboxCoin[];
  /** Submits a transaction to the mempool. */
  offer(raw: Uint8Array): Promise<{ readonly ok: boolean; readonly reason?: string }>;
  /** Returns the transactions that have been in the mempool for at least a second, in the order of a block template. */
  ripe(): Promise<{ readonly transactions: readonly Transaction[]; readonly fees: Amount }>;
  /** Submits a block; resolves once it is connected or rejected. */
  submit(raw: Uint8Array): Promise<{ readonly ok: boolean; readonly reason?: string }>;
}
