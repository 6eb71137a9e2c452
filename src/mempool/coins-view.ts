import type { HeaderEntry } from '../consensus/header-entry.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import { txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { type TxOutput, transactionFromBytes } from '../primitives/transaction.ts';
import type { Entries } from './entries.ts';

/** The chain as validation sees it: always at its tip, never between two blocks. */
export interface ChainView {
  readonly tip: HeaderEntry & { readonly hash: Uint8Array };
  /** Returns an unspent output of the chain, or null. */
  coin(outpoint: Outpoint): Coin | null;
}

/**
 * The coins that an unconfirmed transaction can spend: those of the chain, the mempool and its own package. Used for
 * one validation; it caches outputs of mempool transactions, as many inputs often spend outputs of the same
 * transaction.
 */
export class MempoolCoins {
  readonly #chain: ChainView;
  readonly #entries: Entries;
  /** Parsed outputs by slot. */
  readonly #outputs = new Map<number, readonly TxOutput[]>();
  readonly #package = new Map<string, readonly TxOutput[]>();
  /** Unconfirmed coins count as created in the next block, not by its coinbase. */
  readonly unconfirmedPosition: number;

  constructor(chain: ChainView, entries: Entries) {
    this.#chain = chain;
    this.#entries = entries;
    this.unconfirmedPosition = txPosition(chain.tip.height + 1, 1);
  }

  /** Makes the outputs of a transaction available to later transactions of the package. */
  addPackageTransaction(parsed: ParsedTransaction): void {
    this.#package.set(hashToHex(parsed.txid), parsed.tx.outputs);
  }

  get(outpoint: Outpoint): Coin | null {
    const { txid, vout } = outpoint;
    const slot = this.#entries.find(txid);
    const made =
      slot >= 0 ? this.#outputsOf(slot) : this.#package.size > 0 ? this.#package.get(hashToHex(txid)) : undefined;
    if (made === undefined) return this.#chain.coin(outpoint);
    const output = made[vout];
    return output ? { position: this.unconfirmedPosition, output } : null;
  }

  #outputsOf(slot: number): readonly TxOutput[] {
    let outputs = this.#outputs.get(slot);
    if (outputs === undefined) {
      outputs = transactionFromBytes(this.#entries.raw(slot).slice()).outputs;
      this.#outputs.set(slot, outputs);
    }
    return outputs;
  }
}
