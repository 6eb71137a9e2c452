import type { Database } from 'bun:sqlite';
import type { Outpoint } from '../../primitives/outpoint.ts';
import { SpentCode, TxStateCode } from './wallet-schema.ts';
import {
  coinRecord,
  outpointRowKey,
  type StoredWalletCoin,
  TX_COLUMNS,
  txRecord,
  type WalletCoinRow,
  WalletTxReads,
  type WalletTxRecord,
  type WalletTxRow,
} from './wallet-tx-reads.ts';

export interface TxBlock {
  readonly height: number;
  readonly hash: Uint8Array;
  readonly index: number;
  readonly time: number;
}

/** Read in about a millisecond. */
const WATCHED_PAGE = 1000;
const REMOVED_PAGE = 250;
const UNCONFIRMED_PAGE = 250;

/** SQL for the strongest effect that the spenders of an outpoint have on its coin. */
const spentBy = (outpoint: string) => `coalesce((SELECT min(CASE
    WHEN t.state = ${TxStateCode.CONFIRMED} THEN ${SpentCode.CONFIRMED}
    WHEN t.state = ${TxStateCode.MEMPOOL} THEN ${SpentCode.MEMPOOL}
    WHEN t.state = ${TxStateCode.INACTIVE} AND NOT EXISTS (SELECT 1 FROM mempool_conflicts WHERE tx = t.id)
      THEN ${SpentCode.INACTIVE}
  END) FROM spends s JOIN txs t ON t.id = s.tx WHERE s.outpoint = ${outpoint}), ${SpentCode.UNSPENT})`;

/** The inputs of a transaction as rows: ?1 contains their outpoints one after the other, ?2 their indexes as JSON. */
const INPUTS = 'SELECT substr(?1, 36 * key + 1, 36) AS outpoint, value AS vout FROM json_each(?2)';
/** The wallet's coins among them. */
const INPUT_COINS = `FROM (${INPUTS}) i JOIN txs t ON t.txid = substr(i.outpoint, 1, 32)
  JOIN coins c ON c.tx = t.id AND c.vout = i.vout`;

/** Packs inputs for statements over all of them: one such statement costs a fifth of one for each input. */
function packInputs(inputs: readonly Outpoint[]): [Uint8Array, string] {
  const packed = new Uint8Array(36 * inputs.length);
  for (const [i, outpoint] of inputs.entries()) packed.set(outpointRowKey(outpoint), 36 * i);
  return [packed, JSON.stringify(inputs.map(({ vout }) => vout))];
}

/** Write access to the transactions and coins of a wallet. */
export class WalletTxStore extends WalletTxReads {
  readonly #db: Database;
  readonly #insert;
  readonly #setState;
  readonly #coinHeights;
  readonly #addCoin;
  readonly #addSpends;
  readonly #firstSpenders;
  readonly #inputCoins;
  readonly #addDebit;
  readonly #refreshSpent;
  readonly #refreshInputs;
  readonly #addConflict;
  readonly #dropConflict;

  constructor(db: Database) {
    super(db);
    this.#db = db;
    this.#insert = db.prepare<{ id: number }, (Uint8Array | number | null)[]>(
      `INSERT INTO txs (id, txid, wtxid, raw, state, height, block_hash, block_index, block_time, received_at, time,
         coinbase, debit) VALUES ((SELECT coalesce(max(id), 0) + 1 FROM txs), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)
       RETURNING id`,
    );
    this.#setState = db.prepare(
      'UPDATE txs SET state = ?, height = ?, block_hash = ?, block_index = ?, block_time = ? WHERE id = ?',
    );
    this.#coinHeights = db.prepare('UPDATE coins SET height = ? WHERE tx = ?');
    this.#addCoin = db.prepare('INSERT OR IGNORE INTO coins VALUES (?, ?, ?, ?, ?, ?, 0)');
    this.#addSpends = db.prepare(`INSERT OR IGNORE INTO spends SELECT outpoint, ?3 FROM (${INPUTS})`);
    this.#firstSpenders = db.prepare<{ tx: number }, [Uint8Array, string]>(
      `SELECT DISTINCT (SELECT min(tx) FROM spends s WHERE s.outpoint = i.outpoint) AS tx FROM (${INPUTS}) i`,
    );
    this.#inputCoins = db.prepare<{ value: number; script: Uint8Array }, [Uint8Array, string]>(
      `SELECT c.value, c.script ${INPUT_COINS}`,
    );
    this.#addDebit = db.prepare('UPDATE txs SET debit = debit + ? WHERE id = ?');
    this.#refreshSpent = db.prepare(`UPDATE coins SET spent = ${spentBy('?3')} WHERE tx = ?1 AND vout = ?2`);
    this.#refreshInputs = db.prepare(
      `UPDATE coins SET spent = x.spent
       FROM (SELECT c.tx, c.vout, ${spentBy('i.outpoint')} AS spent ${INPUT_COINS}) x
       WHERE coins.tx = x.tx AND coins.vout = x.vout`,
    );
    this.#addConflict = db.prepare('INSERT OR IGNORE INTO mempool_conflicts VALUES (?, ?)');
    this.#dropConflict = db.prepare<{ tx: number }, [Uint8Array]>(
      'DELETE FROM mempool_conflicts WHERE txid = ? RETURNING tx',
    );
  }

  /** Adds a transaction at the end of the order, without its inputs. Returns its id. */
  insertTransaction(tx: {
    txid: Uint8Array;
    wtxid: Uint8Array;
    raw: Uint8Array;
    state: number;
    block: TxBlock | null;
    receivedAt: number;
    time: number;
    coinbase: boolean;
  }): number {
    const { txid, wtxid, raw, state, block, receivedAt, time, coinbase } = tx;
    const place = block ? [block.height, block.hash, block.index, block.time] : [null, null, null, null];
    return this.#insert.get(txid, wtxid, raw, state, ...place, receivedAt, time, Number(coinbase))!.id;
  }

  /** Changes the state of a transaction and the height of its coins. `refreshInputs` updates what it spends. */
  setState(tx: number, state: number, block: TxBlock | null): void {
    if (block) this.#setState.run(state, block.height, block.hash, block.index, block.time, tx);
    else this.#setState.run(state, null, null, null, null, tx);
    this.#coinHeights.run(state === TxStateCode.CONFIRMED ? block!.height : null, tx);
  }

  /** Replaces the witness. */
  setRaw(tx: number, wtxid: Uint8Array, raw: Uint8Array): void {
    this.#db.query('UPDATE txs SET wtxid = ?, raw = ? WHERE id = ?').run(wtxid, raw, tx);
  }

  addVariant(tx: number, wtxid: Uint8Array, raw: Uint8Array): void {
    this.#db.query('INSERT OR IGNORE INTO tx_variants VALUES (?, ?, ?)').run(tx, wtxid, raw);
  }

  /** Returns the transactions that were added as variants, one with each witness. */
  variantRaws(tx: number): Uint8Array[] {
    return this.#db
      .query<{ raw: Uint8Array }, [number]>('SELECT raw FROM tx_variants WHERE tx = ?')
      .all(tx)
      .map(({ raw }) => raw);
  }

  /** Adds an unspent output that pays the wallet. Returns false where it exists. */
  addCoin(tx: number, vout: number, coin: Pick<StoredWalletCoin, 'value' | 'script' | 'height' | 'coinbase'>): boolean {
    const { changes } = this.#addCoin.run(tx, vout, coin.value, coin.script, coin.height, Number(coin.coinbase));
    return changes > 0;
  }

  /** Records the outpoints that a transaction spends, the wallet's or not. */
  addSpends(inputs: readonly Outpoint[], tx: number): void {
    this.#addSpends.run(...packInputs(inputs), tx);
  }

  /** Returns the first spender of each outpoint, each id once. */
  firstSpenders(inputs: readonly Outpoint[]): number[] {
    return this.#firstSpenders.all(...packInputs(inputs)).map(({ tx }) => tx);
  }

  /** Returns value and script of each of the wallet's coins among some outpoints. */
  coinsAmong(inputs: readonly Outpoint[]): { readonly value: number; readonly script: Uint8Array }[] {
    return this.#inputCoins.all(...packInputs(inputs));
  }

  addDebit(tx: number, value: number): void {
    this.#addDebit.run(value, tx);
  }

  /** Updates the spent state of a coin. */
  refreshSpent(coin: Pick<StoredWalletCoin, 'tx' | 'vout'>, outpoint: Outpoint): void {
    this.#refreshSpent.run(coin.tx, coin.vout, outpointRowKey(outpoint));
  }

  /** Updates the spent state of the wallet's coins among some outpoints. */
  refreshInputs(inputs: readonly Outpoint[]): void {
    this.#refreshInputs.run(...packInputs(inputs));
  }

  addMempoolConflict(tx: number, txid: Uint8Array): boolean {
    return this.#addConflict.run(tx, txid).changes > 0;
  }

  /** Removes the conflicts with a mempool transaction; returns the transactions that had them. */
  dropMempoolConflict(txid: Uint8Array): number[] {
    return this.#dropConflict.all(txid).map(({ tx }) => tx);
  }

  /** Returns a transaction that is in the mempool or conflicts with it; null where there is none. */
  touchedByMempool(): number | null {
    const row = this.#db
      .query<{ id: number }, []>(
        `SELECT * FROM (SELECT id FROM txs WHERE state NOT IN (2, 3) AND state = ${TxStateCode.MEMPOOL} LIMIT 1)
         UNION ALL SELECT * FROM (SELECT tx AS id FROM mempool_conflicts LIMIT 1) LIMIT 1`,
      )
      .get();
    return row?.id ?? null;
  }

  /** Makes a mempool transaction inactive. The coins that it spends have to be refreshed afterwards. */
  forgetMempool(tx: number): void {
    this.#db
      .query(`UPDATE txs SET state = ${TxStateCode.INACTIVE} WHERE id = ? AND state = ${TxStateCode.MEMPOOL}`)
      .run(tx);
    this.#db.query('DELETE FROM mempool_conflicts WHERE tx = ?').run(tx);
  }

  /** Returns the highest transaction that is confirmed or conflicted above a height; null where there is none. */
  highestAbove(height: number): WalletTxRecord | null {
    const row = this.#db
      .query<WalletTxRow, [number]>(`SELECT ${TX_COLUMNS} FROM txs WHERE height > ? ORDER BY height DESC LIMIT 1`)
      .get(height);
    return row && txRecord(row);
  }

  /** Yields the blocks with transactions of the wallet, the highest first, each read on demand. */
  *blockHashes(): Generator<Uint8Array, void> {
    const below = this.#db.query<{ height: number; hash: Uint8Array }, [number]>(
      'SELECT height, block_hash AS hash FROM txs WHERE height < ? AND state = 2 ORDER BY height DESC LIMIT 1',
    );
    for (let height = Number.MAX_SAFE_INTEGER; ; ) {
      const row = below.get(height);
      if (!row) return;
      yield row.hash;
      height = row.height;
    }
  }

  /**
   * Yields the transactions that are neither confirmed nor conflicted, in order, up to the newest of the first page. They
   * are read in pages, so their states may change in between.
   */
  *unconfirmed(): Generator<WalletTxRecord, void> {
    const ofState = (state: number) =>
      `SELECT * FROM (SELECT id FROM txs WHERE state NOT IN (2, 3) AND state = ${state} AND id > ?1 AND id <= ?2
         ORDER BY id LIMIT ${UNCONFIRMED_PAGE})`;
    const page = this.#db.query<WalletTxRow, [number, number]>(
      `SELECT ${TX_COLUMNS} FROM txs WHERE id IN (
         ${[TxStateCode.INACTIVE, TxStateCode.MEMPOOL, TxStateCode.ABANDONED].map(ofState).join(' UNION ALL ')}
       ) ORDER BY id LIMIT ${UNCONFIRMED_PAGE}`,
    );
    const newest = this.#db.query<{ id: number | null }, []>('SELECT max(id) AS id FROM txs').get()?.id ?? 0;
    for (let after = 0; ; ) {
      const rows = page.all(after, newest);
      for (const row of rows) yield txRecord(row);
      if (rows.length < UNCONFIRMED_PAGE) return;
      after = rows.at(-1)!.id;
    }
  }

  /** Returns the newest time up to a limit. */
  latestTime(limit: number): number | null {
    const row = this.#db
      .query<{ time: number }, [number]>('SELECT time FROM txs WHERE time <= ? ORDER BY id DESC LIMIT 1')
      .get(limit);
    return row?.time ?? null;
  }

  /**
   * Txids of all transactions and of those that they spend, in pages: other transactions that touch them may concern
   * the wallet. The file may be written between two pages.
   */
  *watchedTxids(): Generator<readonly Uint8Array[]> {
    const txids = this.#db.query<{ id: number; txid: Uint8Array }, [number]>(
      `SELECT id, txid FROM txs WHERE id > ? ORDER BY id LIMIT ${WATCHED_PAGE}`,
    );
    for (let after = 0; ; ) {
      const page = txids.all(after);
      yield page.map(({ txid }) => txid);
      if (page.length < WATCHED_PAGE) break;
      after = page.at(-1)!.id;
    }
    const spends = this.#db.query<{ outpoint: Uint8Array; tx: number }, [Uint8Array, number]>(
      `SELECT outpoint, tx FROM spends WHERE (outpoint, tx) > (?, ?) ORDER BY outpoint, tx LIMIT ${WATCHED_PAGE}`,
    );
    for (let [outpoint, tx] = [new Uint8Array(0), 0]; ; ) {
      const page = spends.all(outpoint, tx);
      yield page.map((row) => row.outpoint.subarray(0, 32));
      if (page.length < WATCHED_PAGE) return;
      ({ outpoint, tx } = page.at(-1)! as { outpoint: Uint8Array<ArrayBuffer>; tx: number });
    }
  }

  setDetails(tx: number, details: { comment?: string | null; commentTo?: string | null }): void {
    this.#db
      .query('UPDATE txs SET comment = ?, comment_to = ? WHERE id = ?')
      .run(details.comment ?? null, details.commentTo ?? null, tx);
  }

  setReplacement(original: number, originalTxid: Uint8Array, replacement: number, replacementTxid: Uint8Array): void {
    this.#db.query('UPDATE txs SET replaced_by = ? WHERE id = ?').run(replacementTxid, original);
    this.#db.query('UPDATE txs SET replaces = ? WHERE id = ?').run(originalTxid, replacement);
  }

  /**
   * Returns some outputs of a transaction that pay the wallet, in order: as many as can be removed in a few
   * milliseconds.
   */
  somePaidBy(tx: number): StoredWalletCoin[] {
    return this.#db
      .query<WalletCoinRow, [number]>(`SELECT * FROM coins WHERE tx = ? ORDER BY vout LIMIT ${REMOVED_PAGE}`)
      .all(tx)
      .map(coinRecord);
  }

  /** Removes the outputs of a transaction that pay the wallet, up to a given index. */
  removeCoins(tx: number, lastVout: number): void {
    // The trigger that keeps the total of confirmed coins fires for updates, not for deletions.
    this.#db.query('UPDATE coins SET height = NULL WHERE tx = ? AND vout <= ?').run(tx, lastVout);
    this.#db.query('DELETE FROM coins WHERE tx = ? AND vout <= ?').run(tx, lastVout);
  }

  /** Removes a transaction with its outputs and inputs. */
  removeTransaction(tx: number): void {
    // The trigger that keeps the total of confirmed coins fires for updates, not for deletions.
    this.#coinHeights.run(null, tx);
    for (const table of ['coins', 'spends', 'tx_variants', 'mempool_conflicts'])
      this.#db.query(`DELETE FROM ${table} WHERE tx = ?`).run(tx);
    this.#db.query('DELETE FROM txs WHERE id = ?').run(tx);
  }

  /** Copies the comments and replacement of one transaction to another. */
  copyDetails(from: number, to: number): void {
    this.#db
      .query(
        `UPDATE txs SET (comment, comment_to, replaces, replaced_by, time) =
           (SELECT comment, comment_to, replaces, replaced_by, time FROM txs WHERE id = ?) WHERE id = ?`,
      )
      .run(from, to);
  }
}
