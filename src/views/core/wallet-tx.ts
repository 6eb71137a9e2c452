import { coins } from '../../http/core-number.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { parseTransaction } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { sumOutputs, transactionFromBytes } from '../../primitives/transaction.ts';
import { addressOf } from '../../script/address.ts';
import type { WalletView } from '../../wallet/read/wallet-view.ts';
import { TxStateCode } from '../../wallet/store/wallet-schema.ts';
import type { WalletTxRecord } from '../../wallet/store/wallet-tx-reads.ts';

/** Selection and form of the listed entries of a transaction. */
export interface EntryOptions {
  /** Confirmations that received outputs need to be listed. */
  readonly minDepth: number;
  /** Whether entries include the members about the whole transaction. */
  readonly long: boolean;
  /** Only outputs received with this label; null lists all. */
  readonly label: string | null;
  readonly includeChange: boolean;
}

type Format = Pick<NetworkParams, 'address'>;

/** Core's words for whether an unconfirmed transaction signals replaceability (BIP-125). */
export type Replaceability = 'yes' | 'no' | 'unknown';

interface ViewOptions {
  /** Converts satoshis to the shown value. */
  readonly amount?: (satoshis: number) => unknown;
  /** Finds whether an unconfirmed transaction signals replaceability; null if that is not shown. */
  readonly replaceability?: ((tx: WalletTxRecord) => Replaceability) | null;
}

interface ListedOutput {
  readonly vout: number;
  readonly value: number;
  readonly script: Uint8Array;
  readonly mine: boolean;
}

/** Shows transactions of one snapshot of a wallet in the form of Core's RPC. */
export class WalletTxViews {
  readonly #view: WalletView;
  readonly #params: Format;
  readonly #amount: (satoshis: number) => unknown;
  readonly #replaceability: ((tx: WalletTxRecord) => Replaceability) | null;
  readonly #descriptors = new Map<number, string>();

  constructor(view: WalletView, params: Format, { amount = coins, replaceability = null }: ViewOptions = {}) {
    this.#view = view;
    this.#params = params;
    this.#amount = amount;
    this.#replaceability = replaceability;
    for (const { id, normalized } of view.reads.keys.descriptors()) this.#descriptors.set(id, normalized);
  }

  /** Returns the entries of a transaction: outputs sent, then outputs received. */
  entries(tx: WalletTxRecord, { minDepth, long, label, includeChange }: EntryOptions): object[] {
    const { outputs, fee } = this.#listed(tx, includeChange);
    const about = long ? this.about(tx) : {};
    const abandoned = tx.state === TxStateCode.ABANDONED;
    const entries: object[] = [];
    if (tx.debit > 0 && label === null)
      for (const { vout, value, script } of outputs) {
        const address = addressOf(script, this.#params.address);
        const entry = address === null ? null : this.#view.reads.bookEntry(script);
        entries.push({
          ...(address !== null && { address }),
          category: 'send',
          amount: this.#amount(-value),
          ...(entry && { label: entry.label }),
          vout,
          fee: this.#amount(-fee),
          ...about,
          abandoned,
        });
      }
    if (this.#view.depth(tx) < minDepth) return entries;
    const category = this.#category(tx);
    for (const { vout, value, script, mine } of outputs) {
      if (!mine) continue;
      const address = addressOf(script, this.#params.address);
      const entry = address === null ? null : this.#view.reads.bookEntry(script);
      if (label !== null && (entry?.label ?? '') !== label) continue;
      entries.push({
        ...(address !== null && { address }),
        parent_descs: this.parents(script),
        category,
        amount: this.#amount(value),
        ...(entry && { label: entry.label }),
        vout,
        abandoned,
        ...about,
      });
    }
    return entries;
  }

  /**
   * Returns `count` entries after the `skip` latest ones, the newest transaction first. With a label only outputs that
   * were received with it are counted.
   */
  latest(label: string | null, count: number, skip: number): object[] {
    const options = { minDepth: 0, long: true, label, includeChange: false };
    const entries: object[] = [];
    let left = skip;
    for (const { id, listed } of label === null ? this.#outlined() : this.#labelled(label)) {
      if (listed <= left) {
        left -= listed;
        continue;
      }
      entries.push(...this.entries(this.#view.reads.txs.byId(id), options).slice(left));
      left = 0;
      if (entries.length >= count) break;
    }
    return entries.slice(0, count);
  }

  /** Returns the members about the transaction as a whole. */
  about(tx: WalletTxRecord) {
    const { reads } = this.#view;
    const conflicts = tx.coinbase ? [] : reads.txs.rivals(tx.id);
    const confirmed = tx.state === TxStateCode.CONFIRMED;
    return {
      confirmations: this.#view.depth(tx),
      ...(tx.coinbase && { generated: true }),
      ...(confirmed
        ? {
            blockhash: hashToHex(tx.blockHash!),
            blockheight: tx.height,
            blockindex: tx.blockIndex,
            blocktime: tx.blockTime,
          }
        : { trusted: this.#view.isTrusted(tx) }),
      txid: hashToHex(tx.txid),
      wtxid: hashToHex(tx.wtxid),
      alternate_wtxids: reads
        .variants(tx.id)
        .map(hashToHex)
        .filter((wtxid) => wtxid !== hashToHex(tx.wtxid)),
      walletconflicts: conflicts.map(hashToHex),
      mempoolconflicts: reads.txs.mempoolConflicts(tx.id).map(hashToHex),
      time: tx.time,
      timereceived: tx.receivedAt,
      ...(this.#replaceability && {
        'bip125-replaceable': this.#view.depth(tx) > 0 ? 'no' : this.#replaceability(tx),
      }),
      ...(tx.comment !== null && { comment: tx.comment }),
      ...(tx.commentTo !== null && { to: tx.commentTo }),
      ...(tx.replaces !== null && { replaces_txid: hashToHex(tx.replaces) }),
      ...(tx.replacedBy !== null && { replaced_by_txid: hashToHex(tx.replacedBy) }),
    };
  }

  /** Returns the descriptors of the wallet with this script. */
  parents(script: Uint8Array): string[] {
    return this.#view.reads.keys.scripts(script).map(({ descriptor }) => this.#descriptors.get(descriptor)!);
  }

  /** Whether an own script has no label, which is Core's rule for change. */
  isChange(script: Uint8Array): boolean {
    return this.#view.isChange(script, this.#params);
  }

  /** Yields the number of entries of each transaction, the newest first, without reading the entries. */
  *#outlined(): Generator<{ id: number; listed: number }> {
    const { reads } = this.#view;
    for (const tx of reads.outlines()) {
      const spends = tx.debit > 0;
      const sent = spends ? transactionFromBytes(reads.txs.raw(tx.id)).outputs.length - tx.change : 0;
      const received = this.#view.depth(tx) < 0 ? 0 : spends ? tx.own - tx.change : tx.own;
      yield { id: tx.id, listed: sent + received };
    }
  }

  *#labelled(label: string): Generator<{ id: number; listed: number }> {
    for (const tx of this.#view.reads.transactionsPayingLabel(label))
      yield { id: tx.id, listed: this.#view.depth(tx) < 0 ? 0 : tx.own };
  }

  /** Returns all outputs except change of a transaction that the wallet sent, and the own outputs of any other. */
  #listed(tx: WalletTxRecord, includeChange: boolean): { outputs: ListedOutput[]; fee: number } {
    const { txs } = this.#view.reads;
    const mine = txs.coinsOf(tx.id);
    if (tx.debit <= 0) return { outputs: mine.map((coin) => ({ ...coin, mine: true })), fee: 0 };
    const parsed = parseTransaction(txs.raw(tx.id)).tx;
    const ours = new Set(mine.map(({ vout }) => vout));
    const outputs = parsed.outputs.map(({ value, scriptPubKey }, vout) => ({
      vout,
      value: Number(value),
      script: scriptPubKey,
      mine: ours.has(vout),
    }));
    return {
      outputs: outputs.filter((output) => includeChange || !output.mine || !this.isChange(output.script)),
      fee: tx.debit - Number(sumOutputs(parsed)),
    };
  }

  #category(tx: WalletTxRecord): string {
    if (!tx.coinbase) return 'receive';
    if (this.#view.depth(tx) < 1) return 'orphan';
    return this.#view.isImmature(tx) ? 'immature' : 'generate';
  }
}
