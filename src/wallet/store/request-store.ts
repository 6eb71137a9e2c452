import type { Database } from 'bun:sqlite';

/** A payment that was made with a request id. */
export interface StoredRequest {
  /** Display order. */
  readonly txid: string;
  /** Hash of the payment; null where an earlier version of the program made it. */
  readonly payment: Uint8Array | null;
}

/** Maximum number of drafts of one transaction; the oldest is dropped. */
const MAX_DRAFTS = 100;

/** Request ids of a wallet, and fee bumps that it returned as PSBTs. */
export class RequestStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  findRequest(id: string): StoredRequest | null {
    return this.#db
      .query<StoredRequest, [string]>(
        'SELECT r.result AS txid, p.hash AS payment FROM requests r LEFT JOIN request_payments p ON p.id = r.id WHERE r.id = ?',
      )
      .get(id);
  }

  addRequest(id: string, txid: string, payment: Uint8Array, time: number): void {
    this.#db.query('INSERT INTO requests VALUES (?, ?, ?)').run(id, txid, time);
    this.#db.query('INSERT INTO request_payments VALUES (?, ?)').run(id, payment);
  }

  /** `unsignedTxid` is the txid of the draft without any scriptSig. */
  addBumpDraft(original: Uint8Array, unsignedTxid: Uint8Array): void {
    this.#db.query('INSERT OR REPLACE INTO bump_drafts (original, draft) VALUES (?, ?)').run(original, unsignedTxid);
    this.#db
      .query(
        `DELETE FROM bump_drafts WHERE original = ?1 AND id NOT IN
           (SELECT id FROM bump_drafts WHERE original = ?1 ORDER BY id DESC LIMIT ${MAX_DRAFTS})`,
      )
      .run(original);
  }

  /** Returns the txids, without any scriptSig, of the drafts for a transaction. */
  bumpDrafts(original: Uint8Array): Uint8Array[] {
    return this.#db
      .query<{ draft: Uint8Array }, [Uint8Array]>('SELECT draft FROM bump_drafts WHERE original = ?')
      .all(original)
      .map(({ draft }) => draft);
  }
}
