import type { Amount } from '../primitives/amount.ts';
import type { TxPosition } from '../primitives/coin.ts';
import type { BlockHash } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { Transaction } from '../primitives/transaction.ts';

/** The last block, and what the next one must say. */
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

/** What the scenarios need beside it: blocks that are not the tip. */
export interface ScenarioChain extends SandboxChain {
  /** A block of the active chain. */
  at(height: number): SandboxTip | null;
  /** Any block that is known. */
  facts(hash: BlockHash): SandboxTip | null;
  /** The transactions of a block, its coinbase left out. */
  transactionsOf(hash: BlockHash): readonly Transaction[];
}

/** All that the sandbox needs of a node; it keeps no state of its own. */
export interface SandboxChain {
  tip(): SandboxTip;
  /**
   * Outputs of the active chain that pay this script and are spent neither there nor in the mempool, at most `limit`,
   * immature coinbases among them.
   */
  coinsOf(script: Uint8Array, limit: number): readonly SandboxCoin[];
  /** Hands a transaction to the mempool. */
  offer(raw: Uint8Array): Promise<{ readonly ok: boolean; readonly reason?: string }>;
  /** What has waited in the mempool for a second at least, as the next block would hold it. */
  ripe(): Promise<{ readonly transactions: readonly Transaction[]; readonly fees: Amount }>;
  /** Takes a block; resolves once it is connected or refused. */
  submit(raw: Uint8Array): Promise<{ readonly ok: boolean; readonly reason?: string }>;
}
