import type { Database } from 'bun:sqlite';
import type { Outpoint } from '../../primitives/outpoint.ts';

/** A transaction of a wallet without its bytes. Times are Unix seconds. */
export interface WalletTxRecord {
  /** Position in the order in which the wallet saw its transactions. */
  readonly id: number;
  readonly txid: Uint8Array;
  readonly wtxid: Uint8Array;
  /** One of TxStateCode. */
  readonly state: number;
  /** Height of the block that contains it, or that it conflicts with. */
  readonly height: number | null;
  readonly blockHash: Uint8Array | null;
  readonly blockIndex: number | null;
  readonly blockTime: number | null;
  readonly receivedAt: number;
  /** The displayed time. */
  readonly time: number;
  readonly coinbase: boolean;
  /** Satoshis of the wallet that it spends. */
  readonly debit: number;
  readonly comment: string | null;
  readonly commentTo: string | null;
  readonly replaces: Uint8Array | null;
  readonly replacedBy: Uint8Array | null;
}

/** An output that pays the wallet. */
export interface StoredWalletCoin {
  readonly tx: number;
  readonly vout: number;
  readonly value: number;
  readonly script: Uint8Array;
  /** Height of its confirmed transaction, or null. */
  readonly height: number | null;
  readonly coinbase: boolean;
  /** One of SpentCode. */
  readonly spent: number;
}

export interface WalletTxRow {
  id: number;
  txid: Uint8Array;
  wtxid: Uint8Array;
  state: number;
  height: number | null;
  block_hash: Uint8Array | null;
  block_index: number | null;
  block_time: number | null;
  received_at: number;
  time: number;
  coinbase: number;
  debit: number;
  comment: string | null;
  comment_to: string | null;
  replaces: Uint8Array | null;
  replaced_by: Uint8Array | null;
}

export interface WalletCoinRow {
  tx: number;
  vout: number;
  value: number;
  script: Uint8Array;
  height: number | null;
  coinbase: number;
  spent: number;
}

export const TX_COLUMNS = `id, txid, wtxid, state, height, block_hash, block_index, block_time, received_at, time, coinbase,
  debit, comment, comment_to, replaces, replaced_by`;

export function txRecord(row: WalletTxRow): WalletTxRecord {
  return {
    id: row.id,
    txid: row.txid,
    wtxid: row.wtxid,
    state: row.state,
    height: row.height,
    blockHash: row.block_hash,
    blockIndex: row.block_index,
    blockTime: row.block_time,
    receivedAt: row.received_at,
    time: row.time,
    coinbase: row.coinbase === 1,
    debit: row.debit,
    comment: row.comment,
    commentTo: row.comment_to,
    replaces: row.replaces,
    replacedBy: row.replaced_by,
  };
}

export function coinRecord(row: WalletCoinRow): StoredWalletCoin {
  return { ...row, coinbase: row.coinbase === 1 };
}

/** Returns the key of an outpoint: txid in wire order and index, big-endian. */
export function outpointRowKey({ txid, vout }: Outpoint): Uint8Array {
  const key = new Uint8Array(36);
  key.set(txid);
  new DataView(key.buffer).setUint32(32, vout);
  return key;
}

/** Read access to the transactions and coins of a wallet. */
export class WalletTxReads {
  readonly #byTxid;
  readonly #byId;
  readonly #next;
  readonly #raw;
  readonly #coin;
  readonly #coinsOf;
  readonly #spenders;
  readonly #conflicts;
  readonly #rivals;

  constructor(db: Database) {
    this.#byTxid = db.prepare<WalletTxRow, [Uint8Array]>(`SELECT ${TX_COLUMNS} FROM txs WHERE txid = ?`);
    this.#byId = db.prepare<WalletTxRow, [number]>(`SELECT ${TX_COLUMNS} FROM txs WHERE id = ?`);
    this.#next = db.prepare<WalletTxRow, [number]>(`SELECT ${TX_COLUMNS} FROM txs WHERE id > ? ORDER BY id LIMIT 1`);
    this.#raw = db.prepare<{ raw: Uint8Array }, [number]>('SELECT raw FROM txs WHERE id = ?');
    this.#coin = db.prepare<WalletCoinRow, [Uint8Array, number]>(
      'SELECT c.* FROM txs t JOIN coins c ON c.tx = t.id WHERE t.txid = ? AND c.vout = ?',
    );
    this.#coinsOf = db.prepare<WalletCoinRow, [number]>('SELECT * FROM coins WHERE tx = ? ORDER BY vout');
    this.#spenders = db.prepare<{ tx: number }, [Uint8Array]>('SELECT tx FROM spends WHERE outpoint = ? ORDER BY tx');
    this.#conflicts = db.prepare<{ txid: Uint8Array }, [number]>('SELECT txid FROM mempool_conflicts WHERE tx = ?');
    this.#rivals = db.prepare<{ txid: Uint8Array }, [number]>(
      `SELECT DISTINCT t.txid FROM spends a JOIN spends b ON b.outpoint = a.outpoint AND b.tx != a.tx
       JOIN txs t ON t.id = b.tx WHERE a.tx = ?`,
    );
  }

  byTxid(txid: Uint8Array): WalletTxRecord | null {
    const row = this.#byTxid.get(txid);
    return row && txRecord(row);
  }

  byId(id: number): WalletTxRecord {
    return txRecord(this.#byId.get(id)!);
  }

  /** Returns null where it was removed. */
  findById(id: number): WalletTxRecord | null {
    const row = this.#byId.get(id);
    return row && txRecord(row);
  }

  /** Returns the transaction that follows an id in the order; null after the last. */
  nextTransaction(id: number): WalletTxRecord | null {
    const row = this.#next.get(id);
    return row && txRecord(row);
  }

  /** Returns the encoding with witness. */
  raw(id: number): Uint8Array {
    return this.#raw.get(id)!.raw;
  }

  /** Returns null where the output is not the wallet's. */
  coin({ txid, vout }: Outpoint): StoredWalletCoin | null {
    const row = this.#coin.get(txid, vout);
    return row && coinRecord(row);
  }

  coinsOf(tx: number): StoredWalletCoin[] {
    return this.#coinsOf.all(tx).map(coinRecord);
  }

  /** Ids of the transactions that spend an output, whatever their state. */
  spenders(outpoint: Outpoint): number[] {
    return this.#spenders.all(outpointRowKey(outpoint)).map(({ tx }) => tx);
  }

  /** Txids of other wallet transactions that spend one of its inputs. */
  rivals(tx: number): Uint8Array[] {
    return this.#rivals.all(tx).map(({ txid }) => txid);
  }

  /** Txids in the mempool that conflict with it or an ancestor of it. */
  mempoolConflicts(tx: number): Uint8Array[] {
    return this.#conflicts.all(tx).map(({ txid }) => txid);
  }
}
