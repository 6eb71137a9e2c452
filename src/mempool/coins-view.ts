import type { HeaderEntry } from '../consensus/header-entry.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import { txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { type TxOutput, transactionFromBytes } from '../primitives/transaction.ts';
import type { Entries } from './entries.ts';

/** What acceptance asks of the chain: always of its tip, with nothing half connected. */
export interface ChainView {
  readonly tip: HeaderEntry & { readonly hash: Uint8Array };
  /** An unspent output of the chain. */
  coin(outpoint: Outpoint): Coin | null;
}

/**
 * The coins that a loose transaction can spend: those of the chain, of the mempool, and of its own package. For one
 * judgement: what it has read of the mempool it keeps, as most inputs of a transaction may spend outputs of one other.
 */
export class MempoolCoins {
  readonly #chain: ChainView;
  readonly #entries: Entries;
  /** By slot. */
  readonly #outputs = new Map<number, readonly TxOutput[]>();
  readonly #package = new Map<string, readonly TxOutput[]>();
  /** Coins that are in no block count as made in the next one, and not by its coinbase. */
  readonly unconfirmedPosition: number;

  constructor(chain: ChainView, entries: Entries) {
    this.#chain = chain;
    this.#entries = entries;
    this.unconfirmedPosition = txPosition(chain.tip.height + 1, 1);
  }

  /** Lets the next transactions of the package spend the outputs of this one. */
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
