import { COINBASE_MATURITY } from '../../src/consensus/limits.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { outpointKey } from '../../src/primitives/outpoint.ts';
import { isCoinbase, type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import { isUnspendable } from '../../src/script/templates.ts';

/** Where a transaction is; null in the mempool. */
export interface ModelPlace {
  readonly height: number;
  readonly index: number;
  readonly blockHash: string;
  readonly time: number;
}

export interface ModelOutput {
  readonly txid: string;
  readonly vout: number;
  readonly value: number;
  /** Hex. */
  readonly script: string;
  readonly place: ModelPlace | null;
  readonly unspendable: boolean;
  spentBy: { readonly txid: string; readonly vin: number; readonly place: ModelPlace | null } | null;
}

export interface ModelTx {
  readonly txid: string;
  readonly tx: Transaction;
  readonly place: ModelPlace | null;
  readonly outputs: readonly ModelOutput[];
  /** The spent outputs in input order; none for a coinbase. */
  readonly spends: readonly ModelOutput[];
}

/** All transactions of a chain and of a mempool, added up without an index. */
export class ChainModel {
  readonly txs = new Map<string, ModelTx>();
  readonly #outputs = new Map<string, ModelOutput>();
  /** Outputs that can be spent, by script. */
  readonly #owned = new Map<string, ModelOutput[]>();
  #tip: { height: number; hash: string } = { height: -1, hash: '' };

  /** `blocks` begin with the genesis block; `waiting` are in the mempool, parents first. */
  constructor(blocks: readonly Uint8Array[], waiting: readonly Transaction[] = []) {
    for (const [height, raw] of blocks.entries()) {
      const { hash, header, txs } = parseBlock(raw);
      const blockHash = hashToHex(hash);
      for (const [index, { tx }] of txs.entries()) this.#add(tx, { height, index, blockHash, time: header.time });
      this.#tip = { height, hash: blockHash };
    }
    for (const tx of waiting) this.#add(tx, null);
  }

  get tip(): { height: number; hash: string } {
    return this.#tip;
  }

  get outputs(): readonly ModelOutput[] {
    return [...this.#outputs.values()];
  }

  /** Scripts of all outputs that can be spent, hex. */
  get scripts(): readonly string[] {
    return [...this.#owned.keys()];
  }

  /** The members of TxStatus. */
  status(place: ModelPlace | null): object {
    return {
      confirmed: place !== null,
      blockHash: place?.blockHash ?? null,
      blockHeight: place?.height ?? null,
      blockIndex: place?.index ?? null,
      blockTime: place?.time ?? null,
      confirmations: place === null ? 0 : this.#tip.height - place.height + 1,
    };
  }

  outspends(txid: string): object[] {
    return this.txs.get(txid)!.outputs.map(({ spentBy, unspendable }) => ({
      spent: unspendable ? null : spentBy !== null,
      txid: spentBy?.txid ?? null,
      vin: spentBy?.vin ?? null,
      status: spentBy && this.status(spentBy.place),
    }));
  }

  /** The sums of a balance of a script. */
  balance(script: string): object {
    const own = this.#owned.get(script) ?? [];
    const sum = (outputs: readonly ModelOutput[]) => outputs.reduce((total, { value }) => total + value, 0);
    const confirmed = own.filter(({ place }) => place);
    const spent = confirmed.filter(({ spentBy }) => spentBy?.place);
    const coins = confirmed.filter(({ spentBy }) => !spentBy?.place);
    const pendingReceived = sum(own.filter(({ place }) => !place));
    const pendingSpent = sum(own.filter(({ spentBy }) => spentBy && !spentBy.place));
    return {
      confirmed: sum(coins),
      unconfirmed: pendingReceived - pendingSpent,
      total: sum(coins) + pendingReceived - pendingSpent,
      immature: sum(coins.filter(({ place }) => !this.#isMature(place!))),
      pendingReceived,
      pendingSpent,
      received: sum(confirmed),
      sent: sum(spent),
      utxoCount: coins.length,
    };
  }

  /** The outputs that a script owns, `confirmed` those of the UTXO set alone: txid, vout, value and height, sorted. */
  utxos(script: string, confirmed = false): string[] {
    return (this.#owned.get(script) ?? [])
      .filter(({ place, spentBy }) => (confirmed ? place && !spentBy?.place : !spentBy))
      .map(({ txid, vout, value, place }) => `${txid}:${vout} ${value} ${place?.height ?? null}`)
      .sort();
  }

  #isMature({ index, height }: ModelPlace): boolean {
    return index > 0 || this.#tip.height - height + 1 >= COINBASE_MATURITY;
  }

  #add(tx: Transaction, place: ModelPlace | null): void {
    const id = txidOf(tx);
    const txid = hashToHex(id);
    const spends = isCoinbase(tx) ? [] : tx.inputs.map(({ prevout }) => this.#outputs.get(outpointKey(prevout))!);
    for (const [vin, output] of spends.entries()) output.spentBy = { txid, vin, place };
    const outputs = tx.outputs.map(({ value, scriptPubKey }, vout): ModelOutput => {
      const unspendable = isUnspendable(scriptPubKey) || place?.height === 0;
      const script = scriptPubKey.toHex();
      return { txid, vout, value: Number(value), script, place, unspendable, spentBy: null };
    });
    for (const output of outputs) {
      this.#outputs.set(outpointKey({ txid: id, vout: output.vout }), output);
      if (output.unspendable) continue;
      const owned = this.#owned.get(output.script);
      if (owned) owned.push(output);
      else this.#owned.set(output.script, [output]);
    }
    this.txs.set(txid, { txid, tx, place, outputs, spends });
  }
}
