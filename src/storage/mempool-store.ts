import type { Database } from 'bun:sqlite';

/** A transaction of the mempool as it is saved. */
export interface SavedTransaction {
  readonly txid: Uint8Array;
  /** Orders them: parents before children. */
  readonly arrival: number;
  /** Encoding with witness. */
  readonly raw: Uint8Array;
  /** Unix seconds of its first acceptance. */
  readonly time: number;
  readonly unbroadcast: boolean;
}

/** What has changed since the last save. */
export interface MempoolChanges {
  readonly put: Iterable<SavedTransaction>;
  /** Txids. */
  readonly removed: Iterable<Uint8Array>;
  /** All prioritisations: txid, satoshis. */
  readonly feeDeltas: Iterable<readonly [Uint8Array, number]>;
}

interface Row {
  txid: Uint8Array;
  arrival: number;
  raw: Uint8Array;
  time: number;
  unbroadcast: number;
}

/** The mempool on disk, in node.db. Only what has changed is written, so that a save costs what happened since the last. */
export class MempoolStore {
  readonly #db: Database;
  readonly #put;
  readonly #remove;
  readonly #page;
  readonly #deltas;
  readonly #putDelta;

  constructor(db: Database) {
    this.#db = db;
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO mempool (txid, arrival, raw, time, unbroadcast) VALUES (?, ?, ?, ?, ?)',
    );
    this.#remove = db.prepare('DELETE FROM mempool WHERE txid = ?');
    this.#page = db.prepare<Row, []>('SELECT txid, arrival, raw, time, unbroadcast FROM mempool ORDER BY arrival');
    this.#deltas = db.prepare<{ txid: Uint8Array; delta: number }, []>('SELECT txid, delta FROM fee_deltas');
    this.#putDelta = db.prepare('INSERT INTO fee_deltas (txid, delta) VALUES (?, ?)');
  }

  get path(): string {
    return this.#db.filename;
  }

  /** All that was saved, in the order of arrival. */
  transactions(): SavedTransaction[] {
    return this.#page.all().map(({ unbroadcast, ...rest }) => ({ ...rest, unbroadcast: unbroadcast === 1 }));
  }

  feeDeltas(): (readonly [Uint8Array, number])[] {
    return this.#deltas.all().map(({ txid, delta }) => [txid, delta] as const);
  }

  /** All of it or nothing. */
  save({ put, removed, feeDeltas }: MempoolChanges): void {
    this.#db.transaction(() => {
      for (const txid of removed) this.#remove.run(txid);
      for (const { txid, arrival, raw, time, unbroadcast } of put)
        this.#put.run(txid, arrival, raw, time, unbroadcast ? 1 : 0);
      this.#db.run('DELETE FROM fee_deltas');
      for (const [txid, delta] of feeDeltas) this.#putDelta.run(txid, delta);
    })();
  }
}
