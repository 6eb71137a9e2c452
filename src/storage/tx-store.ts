import type { Database } from 'bun:sqlite';
import { type TxPosition, txPosition } from '../primitives/coin.ts';
import type { Txid } from '../primitives/hash.ts';
import { equalBytes } from '../util/bytes.ts';
import { BulkInsert } from './bulk-insert.ts';

/** A transaction of the active chain. */
export interface TxRecord {
  readonly position: TxPosition;
  readonly txid: Txid;
  /** Of its encoding within the block's bytes. */
  readonly offset: number;
  /** Of its first spent output within the block's undo data. */
  readonly undoOffset: number;
}

interface TxRow {
  position: number;
  txid: Uint8Array;
  offset: number;
  undo_offset: number;
}

/** The first six bytes of a txid as a number: exact in a double. */
export function txidPrefix(txid: Uint8Array): number {
  const high = (txid[0]! << 16) | (txid[1]! << 8) | txid[2]!;
  const low = (txid[3]! << 16) | (txid[4]! << 8) | txid[5]!;
  return high * 0x100_0000 + low;
}

function fromRow(row: TxRow): TxRecord {
  return { position: row.position, txid: row.txid as Txid, offset: row.offset, undoOffset: row.undo_offset };
}

/** Transactions of the active chain, for reading. */
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

  /** The latest transaction of that id: two coinbases of 2010 stand in the chain twice (BIP-30). */
  byTxid(txid: Uint8Array): TxRecord | null {
    for (const row of this.#candidates.iterate(txidPrefix(txid))) if (equalBytes(row.txid, txid)) return fromRow(row);
    return null;
  }

  byPosition(position: TxPosition): TxRecord | null {
    const row = this.#byPosition.get(position);
    return row && fromRow(row);
  }

  /** Where the transaction behind this one begins in the block's bytes; null for the last one. */
  nextOffset(position: TxPosition): number | null {
    return this.#next.get(position + 1)?.offset ?? null;
  }

  /** The transactions of a block of the active chain, in block order. */
  ofBlock(height: number): TxRecord[] {
    return this.range(txPosition(height, 0), txPosition(height + 1, 0));
  }

  /** Transactions from one position to before another, in chain order. */
  range(from: TxPosition, to: TxPosition): TxRecord[] {
    return this.#range.all(from, to).map(fromRow);
  }

  /** The txids of a block of the active chain in block order, 32 bytes each, one after the other. */
  txidsOfBlock(height: number): Uint8Array {
    const rows = this.#txids.all(txPosition(height, 0), txPosition(height + 1, 0));
    const txids = new Uint8Array(rows.length * 32);
    for (const [i, { txid }] of rows.entries()) txids.set(txid, i * 32);
    return txids;
  }
}

/** Transactions of the active chain, for the one writer; inside its transaction. */
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

  /** In order of position. */
  add(position: TxPosition, txid: Uint8Array, offset: number, undoOffset: number): void {
    this.#txs.add4(position, txid, offset, undoOffset);
  }

  /** In order of prefix, where that can be had. */
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
