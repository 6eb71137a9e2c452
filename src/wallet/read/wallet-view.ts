import { parseTransaction } from '../../primitives/block.ts';
import type { Transaction } from '../../primitives/transaction.ts';
import { addressOf } from '../../script/address.ts';
import type { KeyEncoding } from '../descriptor/descriptor.ts';
import type { WalletCursor } from '../store/wallet-meta.ts';
import { depthOf, type WalletReads } from '../store/wallet-reads.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletTxRecord } from '../store/wallet-tx-reads.ts';

/** Confirmations before a coinbase can be spent, including its own block. */
export const MATURE_DEPTH = 101;

interface ViewOptions {
  readonly tip?: WalletCursor | null;
  readonly trustsOwn?: boolean;
}

/** Depth and trust of transactions in one state of a wallet's file. Used within a snapshot. */
export class WalletView {
  readonly reads: WalletReads;
  /** Height of the last processed block. */
  readonly tipHeight: number;
  readonly tipHash: Uint8Array;
  readonly #trustsOwn: boolean;
  readonly #trusted = new Map<number, boolean>();

  /**
   * `tip` is the block that depths are counted from; by default the last processed one. `trustsOwn` is false where
   * unconfirmed transactions of the wallet's own are not spent.
   */
  constructor(reads: WalletReads, { tip = reads.cursor(), trustsOwn = true }: ViewOptions = {}) {
    this.reads = reads;
    this.#trustsOwn = trustsOwn;
    this.tipHeight = tip?.height ?? 0;
    this.tipHash = tip?.hash ?? new Uint8Array(32);
  }

  /** Confirmations; negative for a conflicted transaction. */
  depth(tx: Pick<WalletTxRecord, 'state' | 'height'>): number {
    return depthOf(tx, this.tipHeight);
  }

  isImmature(tx: Pick<WalletTxRecord, 'state' | 'height' | 'coinbase'>): boolean {
    return tx.coinbase && this.depth(tx) < MATURE_DEPTH;
  }

  /** Core's CachedTxIsTrusted: confirmed, or in the mempool and funded by trusted outputs of the wallet alone. */
  isTrusted(tx: WalletTxRecord): boolean {
    if (tx.state === TxStateCode.CONFIRMED) return true;
    if (tx.state !== TxStateCode.MEMPOOL || tx.debit <= 0 || !this.#trustsOwn) return false;
    const known = this.#trusted.get(tx.id);
    if (known !== undefined) return known;
    const trusted = this.transaction(tx.id).inputs.every(({ prevout }) => {
      const parent = this.reads.txs.byTxid(prevout.txid);
      return parent !== null && this.reads.txs.coin(prevout) !== null && this.isTrusted(parent);
    });
    this.#trusted.set(tx.id, trusted);
    return trusted;
  }

  transaction(id: number): Transaction {
    return parseTransaction(this.reads.txs.raw(id)).tx;
  }

  /** Whether a script is the wallet's and has no entry in the address book, which Core takes for change. */
  isChange(script: Uint8Array, { address }: Pick<KeyEncoding, 'address'>): boolean {
    if (this.reads.keys.scripts(script).length === 0) return false;
    return addressOf(script, address) === null || this.reads.bookEntry(script) === null;
  }
}
