import type { Database } from 'bun:sqlite';
import type { Coin } from '../primitives/coin.ts';
import type { Txid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { BulkInsert } from './bulk-insert.ts';

export interface CoinRow {
  position: number;
  value: number;
  script: Uint8Array;
}

const KEY_SIZE = 36;

/** Encodes the key of a coin: the txid in wire order and the index big-endian. Writes to `out` if given. */
export function coinKey({ txid, vout }: Outpoint, out: Uint8Array = new Uint8Array(KEY_SIZE)): Uint8Array {
  out.set(txid);
  out[32] = vout >>> 24;
  out[33] = vout >>> 16;
  out[34] = vout >>> 8;
  out[35] = vout;
  return out;
}

function outpointFromKey(key: Uint8Array): Outpoint {
  return { txid: key.subarray(0, 32) as Txid, vout: new DataView(key.buffer, key.byteOffset).getUint32(32) };
}

function fromRow({ position, value, script }: CoinRow): Coin {
  // Values of stored coins are in MoneyRange, so they fit a double exactly.
  return { position, output: { value: BigInt(value), scriptPubKey: script } };
}

/** Read access to the UTXO set of the active chain. */
export class CoinStore {
  readonly #get;
  readonly #all;
  readonly #anyOf;
  readonly #low = new Uint8Array(KEY_SIZE);
  readonly #high = new Uint8Array(KEY_SIZE);

  constructor(db: Database) {
    this.#get = db.prepare<CoinRow, [Uint8Array]>('SELECT position, value, script FROM coins WHERE outpoint = ?');
    this.#all = db.prepare<CoinRow & { outpoint: Uint8Array }, []>('SELECT * FROM coins ORDER BY outpoint');
    this.#anyOf = db.prepare<{ found: number }, [Uint8Array, Uint8Array]>(
      'SELECT 1 AS found FROM coins WHERE outpoint BETWEEN ? AND ? LIMIT 1',
    );
  }

  get(outpoint: Outpoint): Coin | null {
    const row = this.row(coinKey(outpoint));
    return row && fromRow(row);
  }

  row(key: Uint8Array): CoinRow | null {
    return this.#get.get(key);
  }

  /** Whether any output of the transaction is unspent. */
  hasAnyOf(txid: Uint8Array): boolean {
    const low = coinKey({ txid: txid as Txid, vout: 0 }, this.#low);
    const high = coinKey({ txid: txid as Txid, vout: 0xffff_ffff }, this.#high);
    return this.#anyOf.get(low, high) !== null;
  }

  /** Yields all coins by txid in wire order and index, the order in which Core hashes the UTXO set. */
  *all(): Generator<Coin & { outpoint: Outpoint }> {
    for (const row of this.#all.iterate()) yield { outpoint: outpointFromKey(row.outpoint), ...fromRow(row) };
  }
}

/** Write access to the UTXO set for the single writer, within its transaction. Keys come in ascending order. */
export class CoinWriter {
  readonly #put;
  readonly #remove;

  constructor(db: Database) {
    this.#put = new BulkInsert(db, 'coins', ['outpoint', 'position', 'value', 'script'], 'INSERT OR REPLACE');
    this.#remove = db.prepare('DELETE FROM coins WHERE outpoint = ?');
  }

  put(key: Uint8Array, position: number, value: number, script: Uint8Array): void {
    this.#put.add4(key, position, value, script);
  }

  remove(key: Uint8Array): void {
    this.#remove.run(key);
  }

  finish(): void {
    this.#put.finish();
  }
}
