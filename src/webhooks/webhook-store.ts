import type { Database } from 'bun:sqlite';
import { closeDatabase, type DatabaseKind, durably, openDatabase } from '../storage/database.ts';

/** Reason of the last failure of a hook. */
export interface WebhookError {
  readonly code: string;
  readonly message: string;
  /** Status of the reply; null without one. */
  readonly status: number | null;
  /** Unix seconds. */
  readonly at: number;
}

export type WebhookStatus = 'active' | 'paused' | 'disabled';

/** The part of a hook that every delivery changes. */
export interface WebhookProgress {
  readonly id: string;
  /** Cursor up to which everything is delivered. */
  readonly position: string;
  /** Time for which the hook has failed, seconds; null if its last delivery succeeded. */
  readonly failingFor: number | null;
  readonly lastError: WebhookError | null;
  /** Time of the last accepted delivery, Unix seconds; null before it. */
  readonly deliveredAt: number | null;
}

/** A hook as webhooks.db holds it, without its secret. */
export interface WebhookRecord extends WebhookProgress {
  /** Id of the key that made it. */
  readonly owner: string;
  readonly url: string;
  readonly types: readonly string[];
  /** Names of wallets; null for all that the key may see. */
  readonly wallets: readonly string[] | null;
  readonly label: string | null;
  /** Limit of the events of one delivery. */
  readonly maxEvents: number;
  readonly status: WebhookStatus;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Time until which deliveries carry the signature of the previous secret as well, Unix seconds; null without one. */
  readonly previousSecretUntil: number | null;
}

/** The data that only the sender of deliveries reads. */
export interface WebhookTarget {
  readonly url: string;
  /** The secrets that sign, the newest first. */
  readonly secrets: readonly Uint8Array[];
}

interface WebhookRow {
  id: string;
  owner: string;
  url: string;
  filter: string;
  label: string | null;
  max_events: number;
  status: WebhookStatus;
  position: string;
  failing_for: number | null;
  last_error: string | null;
  delivered_at: number | null;
  created_at: number;
  previous_until: number | null;
}

interface SecretRow {
  url: string;
  secret: Uint8Array;
  previous: Uint8Array | null;
  previous_until: number | null;
}

const SCHEMA = `
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  url TEXT NOT NULL,
  filter TEXT NOT NULL,
  label TEXT,
  max_events INTEGER NOT NULL,
  status TEXT NOT NULL,
  position TEXT NOT NULL,
  failing_for INTEGER,
  last_error TEXT,
  delivered_at INTEGER,
  created_at INTEGER NOT NULL,
  secret BLOB NOT NULL,
  previous BLOB,
  previous_until INTEGER
) WITHOUT ROWID;
`;

const WEBHOOKS: DatabaseKind = {
  name: 'webhooks',
  schema: SCHEMA,
  version: 1,
  // A position that a power cut takes back leads to a repeated delivery. Everything else is written durably below.
  durable: false,
  whenDamaged: (path) => `restore a copy of it, or move ${path} away: clients must then make their webhooks again`,
  // Removed secrets are overwritten.
  pragmas: ['secure_delete = ON'],
};

const PUBLIC_COLUMNS =
  'id, owner, url, filter, label, max_events, status, position, failing_for, last_error, delivered_at, created_at, previous_until';

/** webhooks.db: the hooks of keys, their secrets, and the position of each in the event log. One thread writes. */
export class WebhookStore {
  readonly #db: Database;
  readonly #progress;

  /** Creates the file if it is absent, readable only by its owner. Throws OperatorError for a newer schema. */
  constructor(path: string) {
    this.#db = openDatabase(path, WEBHOOKS, null);
    this.#progress = this.#db.prepare<null, (string | number | null)[]>(
      'UPDATE webhooks SET position = ?2, failing_for = ?3, last_error = ?4, delivered_at = ?5 WHERE id = ?1',
    );
  }

  /** Returns all hooks, oldest first. */
  all(): WebhookRecord[] {
    const rows = this.#db.query<WebhookRow, []>(`SELECT ${PUBLIC_COLUMNS} FROM webhooks ORDER BY created_at, id`).all();
    return rows.map(recordOf);
  }

  insertWebhook(record: WebhookRecord, secret: Uint8Array): void {
    const { id, owner, url, types, wallets, label, maxEvents, status, position, createdAt } = record;
    const filter = JSON.stringify({ types, wallets });
    durably(this.#db, () =>
      this.#db
        .query(
          `INSERT INTO webhooks (id, owner, url, filter, label, max_events, status, position, created_at, secret)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(id, owner, url, filter, label, maxEvents, status, position, createdAt, secret),
    );
  }

  setStatus(id: string, status: WebhookStatus): void {
    durably(this.#db, () => this.#db.query('UPDATE webhooks SET status = ? WHERE id = ?').run(status, id));
  }

  /** Stores a new secret. The one before it signs as well until a time, Unix seconds. */
  replaceSecret(id: string, secret: Uint8Array, previousUntil: number): void {
    durably(this.#db, () =>
      this.#db
        .query('UPDATE webhooks SET previous = secret, previous_until = ?3, secret = ?2 WHERE id = ?1')
        .run(id, secret, previousUntil),
    );
  }

  /** Removes the previous secrets whose time is over. Returns when the next one is, Unix seconds; null if none is left. */
  removeOldSecrets(now: number): number | null {
    durably(this.#db, () =>
      this.#db.query('UPDATE webhooks SET previous = NULL, previous_until = NULL WHERE previous_until <= ?').run(now),
    );
    return this.#db.query<{ next: number | null }, []>('SELECT min(previous_until) AS next FROM webhooks').get()!.next;
  }

  removeWebhooks(ids: readonly string[]): void {
    durably(this.#db, () =>
      this.#db.transaction(() => {
        for (const id of ids) this.#db.query('DELETE FROM webhooks WHERE id = ?').run(id);
      })(),
    );
  }

  /** Stores the progress of several hooks in one commit. */
  saveProgress(all: readonly WebhookProgress[]): void {
    this.#db.transaction(() => {
      for (const { id, position, failingFor, lastError, deliveredAt } of all)
        this.#progress.run(id, position, failingFor, lastError && JSON.stringify(lastError), deliveredAt);
    })();
  }

  /** Returns the URL and the secrets of a hook at a time, Unix seconds; null if it has been removed. */
  target(id: string, now: number): WebhookTarget | null {
    const row = this.#db
      .query<SecretRow, [string]>('SELECT url, secret, previous, previous_until FROM webhooks WHERE id = ?')
      .get(id);
    if (!row) return null;
    const { url, secret, previous, previous_until: until } = row;
    return { url, secrets: previous && until !== null && now < until ? [secret, previous] : [secret] };
  }

  close(): void {
    closeDatabase(this.#db);
  }
}

function recordOf(row: WebhookRow): WebhookRecord {
  const { types, wallets } = JSON.parse(row.filter) as Pick<WebhookRecord, 'types' | 'wallets'>;
  const { id, owner, url, label, status, position } = row;
  return {
    ...{ id, owner, url, types, wallets, label, status, position },
    maxEvents: row.max_events,
    failingFor: row.failing_for,
    lastError: row.last_error === null ? null : (JSON.parse(row.last_error) as WebhookError),
    deliveredAt: row.delivered_at,
    createdAt: row.created_at,
    previousSecretUntil: row.previous_until,
  };
}
