import type { Database } from 'bun:sqlite';
import { sha256 } from '../crypto/hash-functions.ts';
import { type TxPosition, txPosition } from '../primitives/coin.ts';
import { BulkInsert } from './bulk-insert.ts';

export const SCRIPT_HASH_SIZE = 20;

/** Returns the key of a script in the address index: the first 20 bytes of its SHA-256. */
export function scriptHash(script: Uint8Array): Uint8Array {
  return sha256(script).subarray(0, SCRIPT_HASH_SIZE);
}

/** Confirmed totals of a script in the active chain, satoshis. Lifetime sums may exceed 2^53. */
export interface ScriptTotals {
  readonly id: number;
  readonly received: bigint;
  readonly sent: bigint;
  readonly txs: number;
  readonly utxos: number;
  readonly firstHeight: number;
  readonly lastHeight: number;
}

interface ScriptRow {
  id: number;
  received: string;
  sent: string;
  txs: number;
  utxos: number;
  first_height: number;
  last_height: number;
}

/** A transaction that pays to a script or spends from it; both amounts in satoshis. */
export interface HistoryRecord {
  readonly position: TxPosition;
  readonly received: number;
  readonly sent: number;
}

/** An unspent output of a script. */
export interface ScriptCoin {
  readonly position: TxPosition;
  readonly vout: number;
  readonly value: number;
}

/** Read access to the address index. */
export class ScriptStore {
  readonly #totals;
  readonly #older;
  readonly #newer;
  readonly #coins;
  readonly #immature;
  readonly #countBetween;

  constructor(db: Database) {
    this.#totals = db.prepare<ScriptRow, [Uint8Array]>(
      `SELECT id, CAST(received AS TEXT) AS received, CAST(sent AS TEXT) AS sent, txs, utxos, first_height, last_height
       FROM scripts WHERE hash = ?`,
    );
    const history =
      'SELECT position, received, sent FROM history WHERE script_id = ? AND position > ? AND position < ?';
    this.#older = db.prepare<HistoryRecord, [number, number, number, number]>(
      `${history} ORDER BY position DESC LIMIT ?`,
    );
    this.#newer = db.prepare<HistoryRecord, [number, number, number, number]>(`${history} ORDER BY position LIMIT ?`);
    this.#coins = db.prepare<ScriptCoin, [number, number, number, number]>(
      `SELECT position, vout, value FROM script_coins WHERE script_id = ? AND (position, vout) > (?, ?)
       ORDER BY position, vout LIMIT ?`,
    );
    // A coinbase is the first transaction of its block.
    this.#immature = db.prepare<{ value: number | null }, [number, number]>(
      `SELECT sum(value) AS value FROM script_coins
       WHERE script_id = ? AND position >= ? AND position % 1048576 = 0`,
    );
    this.#countBetween = db.prepare<{ n: number }, [number, number, number]>(
      'SELECT count(*) AS n FROM history WHERE script_id = ? AND position > ? AND position < ?',
    );
  }

  /** Returns the totals of a script; null if it never occurred. */
  totals(script: Uint8Array): ScriptTotals | null {
    const row = this.#totals.get(scriptHash(script));
    return (
      row && {
        id: row.id,
        received: BigInt(row.received),
        sent: BigInt(row.sent),
        txs: row.txs,
        utxos: row.utxos,
        firstHeight: row.first_height,
        lastHeight: row.last_height,
      }
    );
  }

  /** Returns transactions strictly between two positions, newest or oldest first. */
  history(
    id: number,
    { above, below, order, limit }: { above: TxPosition; below: TxPosition; order: 'asc' | 'desc'; limit: number },
  ): HistoryRecord[] {
    return (order === 'desc' ? this.#older : this.#newer).all(id, above, below, limit);
  }

  countHistory(id: number, { above, below }: { above: TxPosition; below: TxPosition }): number {
    return this.#countBetween.get(id, above, below)!.n;
  }

  /** Returns unspent outputs after (position, vout), in chain order. (-1, 0) starts at the first. */
  coins(id: number, after: { position: TxPosition; vout: number }, limit: number): ScriptCoin[] {
    return this.#coins.all(id, after.position, after.vout, limit);
  }

  /** Returns the sum of coinbase outputs of blocks from a height on, satoshis. */
  coinbaseValueFrom(id: number, height: number): number {
    return this.#immature.get(id, txPosition(Math.max(height, 0), 0))?.value ?? 0;
  }
}

/** Changes of a script's totals by one commit. All but the height are differences. */
export interface ScriptChange {
  readonly received: bigint;
  readonly sent: bigint;
  readonly txs: number;
  readonly utxos: number;
  /** Height of the last added transaction; 0 if none is added. */
  readonly lastHeight: number;
}

/** Write access to the address index for the single writer, within its transaction. */
export class ScriptWriter {
  readonly #find;
  readonly #insert;
  readonly #update;
  readonly #bounds;
  readonly #dropEmpty;
  readonly #cutHistory;
  readonly #history;
  readonly #coins;
  readonly #removeCoin;

  constructor(db: Database) {
    this.#find = db.prepare<{ id: number }, [Uint8Array]>('SELECT id FROM scripts WHERE hash = ?');
    this.#insert = db.prepare('INSERT INTO scripts VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
    this.#update = db.prepare(
      `UPDATE scripts SET received = received + ?, sent = sent + ?, txs = txs + ?, utxos = utxos + ?,
         last_height = max(last_height, ?) WHERE hash = ?`,
    );
    this.#bounds = db.prepare(
      `UPDATE scripts SET first_height = (SELECT min(position) FROM history WHERE script_id = id) >> 20,
         last_height = (SELECT max(position) FROM history WHERE script_id = id) >> 20
       WHERE hash = ? AND txs > 0`,
    );
    this.#dropEmpty = db.prepare('DELETE FROM scripts WHERE hash = ? AND txs = 0');
    this.#cutHistory = db.prepare('DELETE FROM history WHERE script_id = ? AND position = ?');
    this.#history = new BulkInsert(db, 'history', ['script_id', 'position', 'received', 'sent']);
    this.#coins = new BulkInsert(db, 'script_coins', ['script_id', 'position', 'vout', 'value']);
    this.#removeCoin = db.prepare('DELETE FROM script_coins WHERE script_id = ? AND position = ? AND vout = ?');
  }

  /** Returns the id of a script, or 0. */
  id(hash: Uint8Array): number {
    return this.#find.get(hash)?.id ?? 0;
  }

  insert(hash: Uint8Array, id: number, change: ScriptChange, firstHeight: number): void {
    const { received, sent, txs, utxos, lastHeight } = change;
    this.#insert.run(hash, id, received, sent, txs, utxos, firstHeight, lastHeight);
  }

  update(hash: Uint8Array, { received, sent, txs, utxos, lastHeight }: ScriptChange): void {
    this.#update.run(received, sent, txs, utxos, lastHeight, hash);
  }

  /** Recomputes first and last height after history was removed; removes a script without history. */
  recomputeBounds(hash: Uint8Array): void {
    this.#bounds.run(hash);
    this.#dropEmpty.run(hash);
  }

  addHistory(id: number, position: TxPosition, received: number, sent: number): void {
    this.#history.add4(id, position, received, sent);
  }

  removeHistory(id: number, position: TxPosition): void {
    this.#cutHistory.run(id, position);
  }

  addCoin(id: number, position: TxPosition, vout: number, value: number): void {
    this.#coins.add4(id, position, vout, value);
  }

  removeCoin(id: number, position: TxPosition, vout: number): void {
    this.#removeCoin.run(id, position, vout);
  }

  finish(): void {
    this.#history.finish();
    this.#coins.finish();
  }
}
