import type { Database } from 'bun:sqlite';

const TXID = 32;

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
   * The txids of all that is saved, in the order of arrival, one behind the other: there may be half a million, and each
   * is read by itself when its turn comes. And the arrival of the last, 0 where there is none.
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

  /** Null where it is not saved. */
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

  /** All prioritisations: txid, satoshis. */
  putFeeDeltas(deltas: Iterable<readonly [Uint8Array, number]>): void {
    this.#db.run('DELETE FROM fee_deltas');
    for (const [txid, delta] of deltas) this.#putDelta.run(txid, delta);
  }

  /** What `work` writes is written whole, or not at all. */
  atOnce<T>(work: () => T): T {
    return this.#db.transaction(work)();
  }
}
