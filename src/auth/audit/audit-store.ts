import type { Database } from 'bun:sqlite';
import { createHash } from 'node:crypto';

/** An audited call: caller, address and method. It never holds a secret. */
export interface AuditCall {
  /** Unix seconds. */
  readonly time: number;
  /** Id of a key, `static`, `cookie`, `rpcauth:<user>`, `session:<id>`, `anonymous`, or `cli:<user id>`. */
  readonly who: string;
  /** `local` for the command line. */
  readonly ip: string;
  readonly requestId: string;
  readonly method: string;
  readonly wallet: string | null;
}

/** A row to append. */
export interface AuditRow extends AuditCall {
  /** `started`, `ok`, or the code of an error. */
  readonly outcome: string;
  /** The key that a key-management call is about. */
  readonly keyId: string | null;
  readonly txid: string | null;
  /** Id of the row that announced this call; absent for the first row of a call. */
  readonly completes?: number | null;
}

/** A call with its outcome, as it is reported. */
export interface AuditEntry extends AuditCall {
  readonly id: number;
  /** null while no outcome is recorded: the call is running, or the node ended before it completed. */
  readonly outcome: string | null;
  readonly keyId: string | null;
  readonly txid: string | null;
}

export interface AuditFilter {
  readonly who?: string | null;
  readonly method?: string | null;
  /** Unix seconds; only entries from then on. */
  readonly since?: number | null;
}

/** The result of a check of the hash chain. */
export type AuditCheck =
  | { readonly ok: true; readonly rows: number; readonly lastId: number; readonly head: string }
  | { readonly ok: false; readonly id: number; readonly problem: string };

export const OUTCOME_STARTED = 'started';
export const OUTCOME_OK = 'ok';

interface Row {
  id: number;
  time: number;
  who: string;
  ip: string;
  request_id: string;
  method: string;
  wallet: string | null;
  key_id: string | null;
  txid: string | null;
  outcome: string;
  completes: number | null;
  hash: Uint8Array;
}

interface State {
  base_id: number;
  base_hash: Uint8Array;
  last_id: number;
  last_hash: Uint8Array;
}

/** Old rows are deleted in groups, so that most commits delete none. */
const PRUNED_AT_ONCE = 500;
const CHECK_PAGE = 5000;

/**
 * The audit log within auth.db. Rows are appended and never changed; the oldest are deleted beyond a limit. Each row
 * holds a hash over itself and the previous hash, so that a changed or removed row is detected.
 */
export class AuditStore {
  readonly #db: Database;
  readonly #insert;
  readonly #state;

  constructor(db: Database) {
    this.#db = db;
    this.#state = db.prepare<State, []>('SELECT base_id, base_hash, last_id, last_hash FROM audit_state');
    this.#insert = db.prepare(
      `INSERT INTO audit (id, time, who, ip, request_id, method, wallet, key_id, txid, outcome, completes, hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  /** Appends all rows or none and returns their ids. Beyond `keep` rows, the oldest are deleted. */
  append(rows: readonly AuditRow[], keep = Number.POSITIVE_INFINITY): number[] {
    return this.#db
      .transaction(() => {
        const state = this.#state.get()!;
        let { last_id: id, last_hash: hash } = state;
        const ids = rows.map((row) => {
          hash = chained(hash, ++id, row);
          const { time, who, ip, requestId, method, wallet, keyId, txid, outcome, completes = null } = row;
          this.#insert.run(id, time, who, ip, requestId, method, wallet, keyId, txid, outcome, completes, hash);
          return id;
        });
        this.#db.query('UPDATE audit_state SET last_id = ?, last_hash = ?').run(id, hash);
        if (id - state.base_id >= keep + PRUNED_AT_ONCE) this.#prune(id - keep);
        return ids;
      })
      .immediate();
  }

  /** Returns calls with their outcomes, newest first, older than `before`. */
  page({ who = null, method = null, since = null }: AuditFilter, before: number | null, limit: number): AuditEntry[] {
    const terms = ['a.completes IS NULL', 'a.id < ?'];
    const values: (string | number)[] = [before ?? Number.MAX_SAFE_INTEGER];
    const where = (term: string, value: string | number | null) => {
      if (value === null) return;
      terms.push(term);
      values.push(value);
    };
    where('a.who = ?', who);
    where('a.method = ?', method);
    // Times grow with ids, so the search ends at the first row of that time.
    where('a.id >= (SELECT id FROM audit WHERE time >= ? ORDER BY time, id LIMIT 1)', since);
    return this.#db
      .query<AuditEntry, (string | number)[]>(
        `SELECT a.id, a.time, a.who, a.ip, a.request_id AS requestId, a.method, a.wallet,
           coalesce(b.key_id, a.key_id) AS keyId, coalesce(b.txid, a.txid) AS txid,
           coalesce(b.outcome, nullif(a.outcome, '${OUTCOME_STARTED}')) AS outcome
         FROM audit a LEFT JOIN audit b ON b.completes = a.id
         WHERE ${terms.join(' AND ')} ORDER BY a.id DESC LIMIT ?`,
      )
      .all(...values, limit);
  }

  /**
   * Recomputes the hash chain. `expected` is an id and a hash from an earlier check: that row must still exist with
   * that hash, which also detects a log that was truncated or rewritten as a whole.
   */
  check(expected: { readonly id: number; readonly hash: string } | null = null): AuditCheck {
    return this.#db.transaction(() => this.#check(expected))();
  }

  #check(expected: { readonly id: number; readonly hash: string } | null): AuditCheck {
    const state = this.#state.get();
    if (!state) return { ok: false, id: 0, problem: 'the state of the log is missing' };
    let { base_id: id, base_hash: hash } = state;
    if (expected && expected.id < id)
      return { ok: false, id: expected.id, problem: 'the row is older than those that are kept' };
    let seen = expected === null || (expected.id === id && expected.hash === hash.toHex());
    const page = this.#db.query<Row, [number, number]>('SELECT * FROM audit WHERE id > ? ORDER BY id LIMIT ?');
    const first = this.#db.query<{ id: number | null }, []>('SELECT min(id) AS id FROM audit').get()!.id;
    if (first !== null && first <= id) return { ok: false, id: first, problem: 'an unknown row precedes the log' };
    for (let rows = page.all(id, CHECK_PAGE); rows.length > 0; rows = page.all(id, CHECK_PAGE)) {
      for (const row of rows) {
        if (row.id !== id + 1) return { ok: false, id: id + 1, problem: 'the row is missing' };
        id = row.id;
        const { request_id: requestId, key_id: keyId, ...rest } = row;
        hash = chained(hash, id, { ...rest, requestId, keyId });
        if (Buffer.compare(hash, row.hash) !== 0) return { ok: false, id, problem: 'the row was changed' };
        if (expected?.id === id) {
          if (expected.hash !== hash.toHex())
            return { ok: false, id, problem: 'the row has another hash than expected' };
          seen = true;
        }
      }
    }
    if (id !== state.last_id) return { ok: false, id: id + 1, problem: 'the row is missing' };
    if (Buffer.compare(hash, state.last_hash) !== 0)
      return { ok: false, id, problem: 'the hash of the last row differs from the state of the log' };
    if (!seen) return { ok: false, id: expected!.id, problem: 'the row is not in the log' };
    return { ok: true, rows: id - state.base_id, lastId: id, head: hash.toHex() };
  }

  /** Deletes all rows up to an id. The chain then starts from the hash of the last deleted row. */
  #prune(upTo: number): void {
    const { hash } = this.#db.query<{ hash: Uint8Array }, [number]>('SELECT hash FROM audit WHERE id = ?').get(upTo)!;
    this.#db.query('UPDATE audit_state SET base_id = ?, base_hash = ?').run(upTo, hash);
    this.#db.query('DELETE FROM audit WHERE id <= ?').run(upTo);
  }
}

function chained(before: Uint8Array, id: number, row: AuditRow): Uint8Array {
  const { time, who, ip, requestId, method, wallet, keyId, txid, outcome, completes = null } = row;
  const fields = [id, time, who, ip, requestId, method, wallet, keyId, txid, outcome, completes];
  return createHash('sha256').update(before).update(JSON.stringify(fields)).digest();
}
