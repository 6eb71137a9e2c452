import { type Coin, positionHeight } from '../../primitives/coin.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import { isUnspendable } from '../../script/templates.ts';
import type { ChainSource } from '../../storage/chain-source.ts';
import type { CoinRow, PlacedCoin } from '../../storage/coin-store.ts';
import { COINS } from '../../storage/runs/run-family.ts';
import type { AnswerRows } from './chain-rows.ts';
import { notInSink } from './not-in-sink.ts';
import { RowsMissing } from './row-needs.ts';
import type { SinkTxs } from './sink-txs.ts';

/** The unspent outputs of a sink, which follow from the outputs and the inputs of the chain. */
export class SinkCoins {
  readonly family: ChainSource['coins']['family'] = COINS;
  readonly #rows: AnswerRows;
  readonly #txs: SinkTxs;

  constructor(rows: AnswerRows, txs: SinkTxs) {
    this.#rows = rows;
    this.#txs = txs;
  }

  get({ txid, vout }: Outpoint): Coin | null {
    const record = this.#txs.byTxid(txid);
    return record && this.#coinAt(record.position, vout);
  }

  anyOf(txid: Uint8Array): Coin | null {
    const record = this.#txs.byTxid(txid);
    if (record === null) return null;
    const { length } = this.#txs.wholeAt(record.position).parsed.tx.outputs;
    for (let vout = 0; vout < length; vout++) {
      const coin = this.#coinAt(record.position, vout);
      if (coin !== null) return coin;
    }
    return null;
  }

  hasAnyOf(txid: Uint8Array): boolean {
    return this.anyOf(txid) !== null;
  }

  row(): CoinRow | null {
    return notInSink('rows of the UTXO set');
  }

  rowIfCached(): CoinRow | 'pending' | null {
    return notInSink('rows of the UTXO set');
  }

  all(): Generator<PlacedCoin> {
    return notInSink('list of all unspent outputs');
  }

  #coinAt(position: number, vout: number): Coin | null {
    const output = this.#txs.wholeAt(position).parsed.tx.outputs[vout];
    // The coinbase of the genesis block never was a coin.
    if (output === undefined || positionHeight(position) === 0 || isUnspendable(output.scriptPubKey)) return null;
    const spent = this.#rows.get('spent', position);
    if (spent === undefined) throw new RowsMissing({ transactions: [position] });
    return spent.has(vout) ? null : { position, output };
  }
}
