import type { Database } from 'bun:sqlite';
import { closeDatabase, type DatabaseKind, openDatabase } from '../storage/database.ts';

/** A watch as watches.db holds it. */
export interface WatchRecord {
  /** Grows with each watch and is never used again. */
  readonly seq: number;
  readonly id: string;
  /** Id of the key it belongs to. */
  readonly owner: string;
  readonly kind: string;
  /** Text that clients see. */
  readonly value: string;
  /** Canonical key of the watched item. */
  readonly target: string;
  /** Ascending. */
  readonly confirmations: readonly number[];
  readonly label: string | null;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** A watch to add. If its target is already watched, that watch gets the `given` members and keeps the others. */
export interface WatchChange extends Omit<WatchRecord, 'seq' | 'owner'> {
  readonly given: { readonly confirmations: boolean; readonly label: boolean };
}

/** Selection of the watches of an owner for one page; null selects all. */
export interface WatchQuery {
  readonly kind: string | null;
  readonly label: string | null;
  readonly targets: readonly string[] | null;
  /** `seq` of the last one that was shown. */
  readonly after: number;
  readonly limit: number;
}

interface WatchRow {
  seq: number;
  id: string;
  owner: string;
  kind: string;
  value: string;
  target: string;
  confirmations: string;
  label: string | null;
  created_at: number;
}

const SCHEMA = `
CREATE TABLE watches (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT NOT NULL,
  kind TEXT NOT NULL,
  value TEXT NOT NULL,
  target TEXT NOT NULL,
  confirmations TEXT NOT NULL,
  label TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (owner, target)
);
CREATE INDEX watches_by_owner ON watches (owner, seq);
CREATE INDEX watches_by_label ON watches (owner, label, seq) WHERE label IS NOT NULL;
`;

const WATCHES: DatabaseKind = {
  name: 'watches',
  schema: SCHEMA,
  version: 1,
  // An acknowledged watch must survive a power cut, or its owner is not notified of its deposits.
  durable: true,
  whenDamaged: (path) => `restore a copy of it, or move ${path} away: clients must then register their watches again`,
};

/**
 * watches.db, the stored watches of keys. They have a file of their own, since every change of auth.db by another
 * connection makes the node read all keys again. One worker writes, the main thread reads.
 */
export class WatchStore {
  readonly #db: Database;
  readonly #upsert;
  readonly #remove;
  readonly #all;
  readonly #page;
  readonly #byLabel;
  readonly #byTarget;
  readonly #byId;

  /** Creates the file if it is absent, readable only by its owner. Throws OperatorError for a newer schema. */
  constructor(path: string) {
    this.#db = openDatabase(path, WATCHES, null);
    this.#upsert = this.#db.prepare<WatchRow, (string | number | null)[]>(
      `INSERT INTO watches (id, owner, kind, value, target, confirmations, label, created_at)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
       ON CONFLICT (owner, target) DO UPDATE SET
         confirmations = CASE ?9 WHEN 1 THEN excluded.confirmations ELSE confirmations END,
         label = CASE ?10 WHEN 1 THEN excluded.label ELSE label END
       RETURNING *`,
    );
    this.#remove = this.#db.prepare<{ id: string; target: string }, [string, string]>(
      'DELETE FROM watches WHERE owner = ? AND id = ? RETURNING id, target',
    );
    this.#all = this.#db.prepare<WatchRow, [number, number]>(
      'SELECT * FROM watches WHERE seq > ? ORDER BY seq LIMIT ?',
    );
    this.#page = this.#db.prepare<WatchRow, (string | number | null)[]>(
      'SELECT * FROM watches WHERE owner = ?1 AND seq > ?2 AND (?3 IS NULL OR kind = ?3) ORDER BY seq LIMIT ?4',
    );
    this.#byLabel = this.#db.prepare<WatchRow, (string | number | null)[]>(
      `SELECT * FROM watches WHERE owner = ?1 AND label = ?5 AND seq > ?2 AND (?3 IS NULL OR kind = ?3)
       ORDER BY seq LIMIT ?4`,
    );
    this.#byTarget = this.#db.prepare<WatchRow, [string, string]>(
      'SELECT * FROM watches WHERE owner = ? AND target = ?',
    );
    this.#byId = this.#db.prepare<WatchRow, [string, string]>('SELECT * FROM watches WHERE owner = ? AND id = ?');
  }

  /**
   * Adds or changes all watches or none. Returns the stored watches in the same order. Nothing is written if all are stored
   * as they are: many clients register everything again at each start, and a commit waits for the disk.
   */
  upsert(owner: string, changes: readonly WatchChange[]): WatchRecord[] {
    return this.#db.transaction(() =>
      changes.map((change) => {
        const { id, kind, value, target, label, createdAt, given } = change;
        const stored = this.#byTarget.get(owner, target);
        const confirmations = JSON.stringify(change.confirmations);
        const isSame =
          stored &&
          (!given.confirmations || stored.confirmations === confirmations) &&
          (!given.label || stored.label === label);
        if (isSame) return recordOf(stored);
        return recordOf(
          this.#upsert.get(
            ...[id, owner, kind, value, target, confirmations, label, createdAt],
            ...[given.confirmations ? 1 : 0, given.label ? 1 : 0],
          )!,
        );
      }),
    )();
  }

  /** Removes watches of the owner; other ids are ignored. */
  remove(owner: string, ids: readonly string[]): { id: string; target: string }[] {
    return this.#db.transaction(() => ids.flatMap((id) => this.#remove.all(owner, id)))();
  }

  removeAll(owner: string): void {
    this.#db.query('DELETE FROM watches WHERE owner = ?').run(owner);
  }

  /** Returns watches of all owners in the order in which they were added. */
  all(after: number, limit: number): WatchRecord[] {
    return this.#all.all(after, limit).map(recordOf);
  }

  page(owner: string, { kind, label, targets, after, limit }: WatchQuery): WatchRecord[] {
    if (targets === null)
      return (
        label === null ? this.#page.all(owner, after, kind, limit) : this.#byLabel.all(owner, after, kind, limit, label)
      ).map(recordOf);
    return targets
      .flatMap((target) => this.#byTarget.all(owner, target).map(recordOf))
      .filter(
        (row) => row.seq > after && (kind === null || row.kind === kind) && (label === null || row.label === label),
      )
      .sort((a, b) => a.seq - b.seq)
      .slice(0, limit);
  }

  /** Returns a watch, or null if the owner has none with this id. */
  byId(owner: string, id: string): WatchRecord | null {
    const row = this.#byId.get(owner, id);
    return row && recordOf(row);
  }

  close(): void {
    closeDatabase(this.#db);
  }
}

function recordOf({ seq, id, owner, kind, value, target, confirmations, label, created_at }: WatchRow): WatchRecord {
  const numbers = JSON.parse(confirmations) as number[];
  return { seq, id, owner, kind, value, target, confirmations: numbers, label, createdAt: created_at };
}
