import type { Database } from 'bun:sqlite';
import { type TxPosition, txPosition } from '../primitives/coin.ts';
import type { Txid } from '../primitives/hash.ts';
import { equalBytes } from '../util/bytes.ts';
import { BulkInsert } from './bulk-insert.ts';
import type { RunBatch } from './runs/run-batch.ts';
import { TX_INDEX } from './runs/run-family.ts';
import type { RunLists } from './runs/run-lists.ts';
import { positionOf, putPosition } from './runs/run-range.ts';

/** A transaction of the active chain. */
export interface TxRecord {
  readonly position: TxPosition;
  readonly txid: Txid;
}

/** A transaction of the active chain, and where its bytes are. */
export interface StoredTx extends TxRecord {
  /** Offset of its encoding within the block, bytes. */
  readonly offset: number;
  /** Offset of its first undo record within the block's undo data, bytes. */
  readonly undoOffset: number;
}

interface TxRow {
  position: number;
  txid: Uint8Array;
  offset: number;
  undo_offset: number;
}

/** Bytes of the txid in the transaction index; they lead to a few candidates, of which `txs` holds the full txid. */
const TXID_PREFIX_SIZE = 6;

/** Adds a transaction to the batch of the transaction index, or its removal. */
export function indexTx(batch: RunBatch, txid: Uint8Array, position: TxPosition, removed: boolean): void {
  batch.beginEntry(removed, 0);
  const { keys, keyAt } = batch;
  for (let i = 0; i < TXID_PREFIX_SIZE; i++) keys[keyAt + i] = txid[i]!;
  putPosition(keys, keyAt + TXID_PREFIX_SIZE, position);
  batch.finishEntry(batch.valueAt);
}

function fromRow(row: TxRow): StoredTx {
  return { position: row.position, txid: row.txid as Txid, offset: row.offset, undoOffset: row.undo_offset };
}

/** Read access to the transactions of the active chain. */
export class TxStore {
  readonly #runs: RunLists;
  readonly #byPosition;
  readonly #range;
  readonly #next;
  readonly #txids;

  constructor(db: Database, runs: RunLists) {
    this.#runs = runs;
    this.#byPosition = db.prepare<TxRow, [number]>('SELECT * FROM txs WHERE position = ?');
    this.#range = db.prepare<TxRow, [number, number]>(
      'SELECT * FROM txs WHERE position >= ? AND position < ? ORDER BY position',
    );
    this.#next = db.prepare<{ offset: number }, [number]>('SELECT offset FROM txs WHERE position = ?');
    this.#txids = db.prepare<{ txid: Uint8Array }, [number, number]>(
      'SELECT txid FROM txs WHERE position >= ? AND position < ? ORDER BY position',
    );
  }

  /** Returns the latest transaction with a txid, or null: two coinbases of 2010 are in the chain twice (BIP-30). */
  byTxid(txid: Uint8Array): StoredTx | null {
    const prefix = txid.subarray(0, TXID_PREFIX_SIZE);
    const positions: number[] = [];
    for (const run of this.#runs.runsOf(TX_INDEX))
      run.visitPrefix(prefix, (key) => void positions.push(positionOf(key, TXID_PREFIX_SIZE)));
    positions.sort((a, b) => b - a);
    // A removed entry leads to another transaction or to none.
    for (const position of positions) {
      const row = this.#byPosition.get(position);
      if (row !== null && equalBytes(row.txid, txid)) return fromRow(row);
    }
    return null;
  }

  byPosition(position: TxPosition): StoredTx | null {
    const row = this.#byPosition.get(position);
    return row && fromRow(row);
  }

  /** Returns the offset of the next transaction in the block; null for the last one. */
  nextOffset(position: TxPosition): number | null {
    return this.#next.get(position + 1)?.offset ?? null;
  }

  /** Returns the transactions of a block of the active chain, in block order. */
  ofBlock(height: number): StoredTx[] {
    return this.range(txPosition(height, 0), txPosition(height + 1, 0));
  }

  /** Returns the transactions from one position up to before another, in chain order. */
  range(from: TxPosition, to: TxPosition): StoredTx[] {
    return this.#range.all(from, to).map(fromRow);
  }

  /** Returns the concatenated txids of a block of the active chain, 32 bytes each, in block order. */
  txidsOfBlock(height: number): Uint8Array {
    const rows = this.#txids.all(txPosition(height, 0), txPosition(height + 1, 0));
    const txids = new Uint8Array(rows.length * 32);
    for (const [i, { txid }] of rows.entries()) txids.set(txid, i * 32);
    return txids;
  }
}

/** Write access to the transactions of the active chain for the single writer, within its transaction. */
export class TxWriter {
  readonly #txs;
  readonly #cut;
  readonly #clear;

  constructor(db: Database) {
    this.#txs = new BulkInsert(db, 'txs', ['position', 'txid', 'offset', 'undo_offset']);
    this.#cut = db.prepare('DELETE FROM txs WHERE position >= ?');
    this.#clear = db.prepare('DELETE FROM txs');
  }

  /** Rows come in order of position. */
  insertTx(position: TxPosition, txid: Uint8Array, offset: number, undoOffset: number): void {
    this.#txs.add4(position, txid, offset, undoOffset);
  }

  finish(): void {
    this.#txs.finish();
  }

  /** Removes the transactions of the block at a height and of all after it. */
  removeFrom(height: number): void {
    this.#cut.run(txPosition(height, 0));
  }

  /** Removes all transactions; without a condition SQLite need not read the rows. */
  removeAll(): void {
    this.#clear.run();
  }
}
