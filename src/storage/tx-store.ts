import type { Database } from 'bun:sqlite';
import { type TxPosition, txPosition } from '../primitives/coin.ts';
import type { Txid } from '../primitives/hash.ts';
import { equalBytes } from '../util/bytes.ts';
import { BulkInsert } from './bulk-insert.ts';

/** A transaction of the active chain. */
export interface TxRecord {
  readonly position: TxPosition;
  readonly txid: Txid;
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

/** Returns the first six bytes of a txid as a number, which fits a double exactly. */
export function txidPrefix(txid: Uint8Array): number {
  const high = (txid[0]! << 16) | (txid[1]! << 8) | txid[2]!;
  const low = (txid[3]! << 16) | (txid[4]! << 8) | txid[5]!;
  return high * 0x100_0000 + low;
}

function fromRow(row: TxRow): TxRecord {
  return { position: row.position, txid: row.txid as Txid, offset: row.offset, undoOffset: row.undo_offset };
}

/** Read access to the transactions of the active chain. */
export class TxStore {
  readonly #candidates;
  readonly #byPosition;
  readonly #range;
  readonly #next;
  readonly #txids;

  constructor(db: Database) {
    this.#candidates = db.prepare<TxRow, [number]>(
      'SELECT t.* FROM tx_index i JOIN txs t ON t.position = i.position WHERE i.prefix = ? ORDER BY i.position DESC',
    );
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
  byTxid(txid: Uint8Array): TxRecord | null {
    for (const row of this.#candidates.iterate(txidPrefix(txid))) if (equalBytes(row.txid, txid)) return fromRow(row);
    return null;
  }

  byPosition(position: TxPosition): TxRecord | null {
    const row = this.#byPosition.get(position);
    return row && fromRow(row);
  }

  /** Returns the offset of the next transaction in the block; null for the last one. */
  nextOffset(position: TxPosition): number | null {
    return this.#next.get(position + 1)?.offset ?? null;
  }

  /** Returns the transactions of a block of the active chain, in block order. */
  ofBlock(height: number): TxRecord[] {
    return this.range(txPosition(height, 0), txPosition(height + 1, 0));
  }

  /** Returns the transactions from one position up to before another, in chain order. */
  range(from: TxPosition, to: TxPosition): TxRecord[] {
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
  readonly #index;
  readonly #range;
  readonly #cutIndex;
  readonly #cut;

  constructor(db: Database) {
    this.#txs = new BulkInsert(db, 'txs', ['position', 'txid', 'offset', 'undo_offset']);
    this.#index = new BulkInsert(db, 'tx_index', ['prefix', 'position']);
    this.#range = db.prepare<TxRow, [number, number]>(
      'SELECT * FROM txs WHERE position >= ? AND position < ? ORDER BY position',
    );
    this.#cutIndex = db.prepare('DELETE FROM tx_index WHERE prefix = ? AND position = ?');
    this.#cut = db.prepare('DELETE FROM txs WHERE position >= ? AND position < ?');
  }

  /** Rows come in order of position. */
  add(position: TxPosition, txid: Uint8Array, offset: number, undoOffset: number): void {
    this.#txs.add4(position, txid, offset, undoOffset);
  }

  /** Rows are inserted faster in order of prefix. */
  addIndex(prefix: number, position: TxPosition): void {
    this.#index.add2(prefix, position);
  }

  finish(): void {
    this.#txs.finish();
    this.#index.finish();
  }

  removeBlock(height: number): void {
    const from = txPosition(height, 0);
    const to = txPosition(height + 1, 0);
    for (const { txid, position } of this.#range.all(from, to)) this.#cutIndex.run(txidPrefix(txid), position);
    this.#cut.run(from, to);
  }
}
