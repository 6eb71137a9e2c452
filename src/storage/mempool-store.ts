import type { Database } from 'bun:sqlite';

const TXID = 32;

/** A saved mempool entry. */
export interface SavedTransaction {
  readonly txid: Uint8Array;
  /** Sort key: parents come before children. */
  readonly arrival: number;
  /** Encoding with witness. */
  readonly raw: Uint8Array;
  /** Time of acceptance, Unix seconds. */
  readonly time: number;
  readonly unbroadcast: boolean;
}

interface Row {
  txid: Uint8Array;
  arrival: number;
  raw: Uint8Array;
  time: number;
  unbroadcast: number;
}

/**
 * The saved mempool in node.db. Only changes are written, so that the cost of a save depends on the changes since the
 * last one.
 */
export class MempoolStore {
  readonly #db: Database;
  readonly #put;
  readonly #remove;
  readonly #order;
  readonly #get;
  readonly #deltas;
  readonly #putDelta;

  constructor(db: Database) {
    this.#db = db;
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO mempool (txid, arrival, raw, time, unbroadcast) VALUES (?, ?, ?, ?, ?)',
    );
    this.#remove = db.prepare('DELETE FROM mempool WHERE txid = ?');
    this.#order = db.prepare<Pick<Row, 'txid' | 'arrival'>, []>('SELECT txid, arrival FROM mempool ORDER BY arrival');
    this.#get = db.prepare<Row, [Uint8Array]>(
      'SELECT txid, arrival, raw, time, unbroadcast FROM mempool WHERE txid = ?',
    );
    this.#deltas = db.prepare<{ txid: Uint8Array; delta: number }, []>('SELECT txid, delta FROM fee_deltas');
    this.#putDelta = db.prepare('INSERT INTO fee_deltas (txid, delta) VALUES (?, ?)');
  }

  get path(): string {
    return this.#db.filename;
  }

  /**
   * Returns the concatenated txids of all saved transactions in order of arrival, since there may be half a million,
   * and each is loaded separately; and the arrival of the last one, 0 if there is none.
   */
  saved(): { txids: Uint8Array; lastArrival: number } {
    const { count } = this.#db.query<{ count: number }, []>('SELECT count(*) AS count FROM mempool').get()!;
    const txids = new Uint8Array(count * TXID);
    let at = 0;
    let lastArrival = 0;
    for (const { txid, arrival } of this.#order.iterate()) {
      txids.set(txid, at);
      at += TXID;
      lastArrival = arrival;
    }
    return { txids, lastArrival };
  }

  /** Returns a saved transaction, or null. */
  get(txid: Uint8Array): SavedTransaction | null {
    const row = this.#get.get(txid);
    return row && { ...row, unbroadcast: row.unbroadcast === 1 };
  }

  feeDeltas(): (readonly [Uint8Array, number])[] {
    return this.#deltas.all().map(({ txid, delta }) => [txid, delta] as const);
  }

  put({ txid, arrival, raw, time, unbroadcast }: SavedTransaction): void {
    this.#put.run(txid, arrival, raw, time, unbroadcast ? 1 : 0);
  }

  remove(txid: Uint8Array): void {
    this.#remove.run(txid);
  }

  /** Replaces all fee deltas (prioritisetransaction), satoshis by txid. */
  putFeeDeltas(deltas: Iterable<readonly [Uint8Array, number]>): void {
    this.#db.run('DELETE FROM fee_deltas');
    for (const [txid, delta] of deltas) this.#putDelta.run(txid, delta);
  }

  /** Runs `work` in one transaction. */
  atOnce<T>(work: () => T): T {
    return this.#db.transaction(work)();
  }
}
