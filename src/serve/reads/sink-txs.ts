import { positionHeight, positionIndex, type TxPosition, txPosition } from '../../primitives/coin.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import type { TxRows } from '../../storage/chain-source.ts';
import type { TxRecord } from '../../storage/tx-store.ts';
import type { AnswerRows, TxPlace, WholeTx } from './chain-rows.ts';
import { RowsMissing } from './row-needs.ts';
import type { SinkHeaders } from './sink-headers.ts';

/** Transactions of one statement, at most a few megabytes. */
const BATCH = 500;

/** The transactions of the active chain of a sink. */
export class SinkTxs implements TxRows {
  readonly #rows: AnswerRows;
  readonly #headers: SinkHeaders;

  constructor(rows: AnswerRows, headers: SinkHeaders) {
    this.#rows = rows;
    this.#headers = headers;
  }

  byTxid(txid: Uint8Array): TxRecord | null {
    const position = this.#rows.get('position', txid.toHex());
    if (position === undefined) throw new RowsMissing({ txids: [hashToHex(txid as Txid)] });
    return position === null ? null : this.byPosition(position);
  }

  byPosition(position: TxPosition): TxRecord | null {
    const place = this.placeAt(position);
    return place && { position, txid: place.txid };
  }

  ofBlock(height: number): TxRecord[] {
    return this.range(txPosition(height, 0), txPosition(height + 1, 0));
  }

  range(from: TxPosition, to: TxPosition): TxRecord[] {
    const positions: TxPosition[] = [];
    for (let height = positionHeight(from); height <= positionHeight(to); height++) {
      const count = this.#headers.byHeight(height)?.stats?.txCount ?? 0;
      const first = height === positionHeight(from) ? positionIndex(from) : 0;
      const end = height === positionHeight(to) ? Math.min(count, positionIndex(to)) : count;
      for (let index = first; index < end; index++) positions.push(txPosition(height, index));
    }
    const missing = positions.filter((position) => this.#rows.get('place', position) === undefined);
    if (missing.length > 0) throw new RowsMissing({ transactions: missing.slice(0, BATCH) });
    return positions.flatMap((position) => this.byPosition(position) ?? []);
  }

  txidsOfBlock(height: number): Uint8Array {
    const txids = this.#rows.get('txids', height);
    if (txids === undefined) throw new RowsMissing({ blockTxids: { height } });
    return txids;
  }

  /** Returns the txid and the size of a transaction; null where there is none. */
  placeAt(position: TxPosition): TxPlace | null {
    if (this.#headers.byHeight(positionHeight(position)) === null) return null;
    const place = this.#rows.get('place', position);
    if (place === undefined) throw new RowsMissing({ transactions: [position] });
    return place;
  }

  wholeAt(position: TxPosition): WholeTx {
    const whole = this.#rows.get('tx', position);
    if (whole === undefined) throw new RowsMissing({ transactions: [position] });
    return whole;
  }
}
