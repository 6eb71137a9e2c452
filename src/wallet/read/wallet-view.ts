import { parseTransaction } from '../../primitives/block.ts';
import type { Transaction } from '../../primitives/transaction.ts';
import { addressOf } from '../../script/address.ts';
import type { KeyEncoding } from '../descriptor/descriptor.ts';
import type { WalletCursor } from '../store/wallet-meta.ts';
import { depthOf, type WalletReads } from '../store/wallet-reads.ts';
import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletTxRecord } from '../store/wallet-tx-store.ts';

/** Confirmations a coinbase needs before it can be spent, and one for its own block. */
export const MATURE_DEPTH = 101;

/** A wallet on one state of its file: how deep and how trustworthy its transactions are. Used within a snapshot. */
export class WalletView {
  readonly reads: WalletReads;
  /** Height of the last block that the wallet has followed. */
  readonly tipHeight: number;
  readonly tipHash: Uint8Array;
  readonly #trusted = new Map<number, boolean>();

  /** `tip` is the block that depths are counted from: the last one that the wallet has followed, unless it is given. */
  constructor(reads: WalletReads, tip: WalletCursor | null = reads.cursor()) {
    this.reads = reads;
    this.tipHeight = tip?.height ?? 0;
    this.tipHash = tip?.hash ?? new Uint8Array(32);
  }

  /** Confirmations; negative for what a block contradicts. */
  depth(tx: Pick<WalletTxRecord, 'state' | 'height'>): number {
    return depthOf(tx, this.tipHeight);
  }

  isImmature(tx: Pick<WalletTxRecord, 'state' | 'height' | 'coinbase'>): boolean {
    return tx.coinbase && this.depth(tx) < MATURE_DEPTH;
  }

  /** Core's CachedTxIsTrusted: confirmed, or made of our own trusted outputs alone and in the mempool. */
  isTrusted(tx: WalletTxRecord): boolean {
    if (tx.state === TxStateCode.CONFIRMED) return true;
    if (tx.state !== TxStateCode.MEMPOOL || tx.debit <= 0) return false;
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

  /** Whether a script is ours and in no book: Core takes that for change. */
  isChange(script: Uint8Array, { address }: Pick<KeyEncoding, 'address'>): boolean {
    if (this.reads.keys.scripts(script).length === 0) return false;
    return addressOf(script, address) === null || this.reads.bookEntry(script) === null;
  }
}
