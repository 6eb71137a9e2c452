import type { Database } from 'bun:sqlite';
import { closeDatabase, type DatabaseKind, openDatabase } from './database.ts';

/** A key as auth.db holds it: everything but its secret. Times are Unix seconds. */
export interface KeyRecord {
  readonly id: string;
  readonly label: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Subnets; null allows every address. */
  readonly allowedIps: readonly string[] | null;
  readonly rate: { readonly perSecond: number; readonly burst: number } | null;
  readonly lastUsedAt: number | null;
}

/** One of the secrets that stand for a key: two are valid while it is being rotated. */
export interface KeySecret {
  readonly keyId: string;
  /** SHA-256, 32 bytes. */
  readonly hash: Uint8Array;
  /** Unix seconds; null as long as the key itself. */
  readonly validUntil: number | null;
}

/** A call worth remembering: who did what, and how it ended. Never holds a secret. */
export interface AuditEntry {
  /** Unix seconds. */
  readonly time: number;
  readonly who: string;
  readonly ip: string;
  readonly requestId: string;
  readonly method: string;
  readonly outcome: string;
}

interface KeyRow {
  id: string;
  label: string;
  scopes: string;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  allowed_ips: string | null;
  rate: string | null;
  last_used_at: number | null;
}

const AUDIT_KEPT = 100_000;

const SCHEMA = `
CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  label TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  allowed_ips TEXT,
  rate TEXT,
  last_used_at INTEGER
);
CREATE TABLE key_secrets (
  key_id TEXT NOT NULL REFERENCES keys (id),
  hash BLOB NOT NULL,
  valid_until INTEGER,
  PRIMARY KEY (key_id, hash)
) WITHOUT ROWID;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  who TEXT NOT NULL,
  ip TEXT NOT NULL,
  request_id TEXT NOT NULL,
  method TEXT NOT NULL,
  outcome TEXT NOT NULL
);
`;

const AUTH: DatabaseKind = {
  schema: SCHEMA,
  version: 1,
  // A key that was handed out must survive a power cut.
  durable: true,
  pragmas: ['foreign_keys = ON'],
  whenDamaged: (path) =>
    `restore a copy of it, or move ${path} away: the node then writes a new initial.key, and all other keys must be issued again`,
};

/** auth.db: API keys and the audit log. The running node and the key commands may have it open at the same time. */
export class AuthStore {
  readonly #db: Database;
  readonly #version;
  readonly #keys;
  readonly #secrets;
  readonly #touch;
  readonly #audit;

  /** Makes the file where there is none, readable for the owner alone. Throws OperatorError on a newer schema. */
  constructor(path: string) {
    this.#db = openDatabase(path, AUTH, null);
    this.#version = this.#db.prepare<{ data_version: number }, []>('PRAGMA data_version');
    this.#keys = this.#db.prepare<KeyRow, []>('SELECT * FROM keys ORDER BY created_at, id');
    this.#secrets = this.#db.prepare<{ key_id: string; hash: Uint8Array; valid_until: number | null }, []>(
      'SELECT key_id, hash, valid_until FROM key_secrets',
    );
    this.#touch = this.#db.prepare<null, [number, string, number]>(
      'UPDATE keys SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, 0) < ?',
    );
    this.#audit = this.#db.prepare<null, [number, string, string, string, string, string]>(
      'INSERT INTO audit (time, who, ip, request_id, method, outcome) VALUES (?, ?, ?, ?, ?, ?)',
    );
  }

  /** Changes whenever another connection has committed; not by what this one writes. */
  dataVersion(): number {
    return this.#version.get()!.data_version;
  }

  /** All keys, the revoked and expired ones too, oldest first. */
  keys(): KeyRecord[] {
    return this.#keys.all().map((row) => ({
      id: row.id,
      label: row.label,
      scopes: JSON.parse(row.scopes) as string[],
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      allowedIps: row.allowed_ips === null ? null : (JSON.parse(row.allowed_ips) as string[]),
      rate: row.rate === null ? null : (JSON.parse(row.rate) as KeyRecord['rate']),
      lastUsedAt: row.last_used_at,
    }));
  }

  secrets(): KeySecret[] {
    return this.#secrets
      .all()
      .map(({ key_id, hash, valid_until }) => ({ keyId: key_id, hash, validUntil: valid_until }));
  }

  /** Throws when the id is taken. */
  createKey(record: KeyRecord, secret: Uint8Array): void {
    this.#db.transaction(() => {
      this.#db
        .query('INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)')
        .run(
          record.id,
          record.label,
          JSON.stringify(record.scopes),
          record.createdAt,
          record.expiresAt,
          record.revokedAt,
          record.allowedIps && JSON.stringify(record.allowedIps),
          record.rate && JSON.stringify(record.rate),
          record.lastUsedAt,
        );
      this.#addSecret(record.id, secret);
    })();
  }

  /** Gives a key another secret; the ones it has stay valid until `oldValidUntil`. False when there is no such key. */
  rotateKey(id: string, secret: Uint8Array, oldValidUntil: number): boolean {
    return this.#db.transaction(() => {
      if (!this.#has(id)) return false;
      this.#db
        .query('UPDATE key_secrets SET valid_until = min(coalesce(valid_until, ?2), ?2) WHERE key_id = ?1')
        .run(id, oldValidUntil);
      this.#addSecret(id, secret);
      return true;
    })();
  }

  /** False when there is no such key; a key revoked before keeps its time. */
  revokeKey(id: string, at: number): boolean {
    return this.#change('UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?', at, id);
  }

  /** False when there is no such key. */
  setScopes(id: string, scopes: readonly string[]): boolean {
    return this.#change('UPDATE keys SET scopes = ? WHERE id = ?', JSON.stringify(scopes), id);
  }

  /** Notes when keys were last used. Not worth waiting for the disk. */
  touch(lastUsed: ReadonlyMap<string, number>): void {
    this.#db.run('PRAGMA synchronous = NORMAL');
    try {
      this.#db.transaction(() => {
        for (const [id, at] of lastUsed) this.#touch.run(at, id, at);
      })();
    } finally {
      this.#db.run('PRAGMA synchronous = FULL');
    }
  }

  audit({ time, who, ip, requestId, method, outcome }: AuditEntry): void {
    const { lastInsertRowid } = this.#audit.run(time, who, ip, requestId, method, outcome);
    if (Number(lastInsertRowid) % 1000 === 0)
      this.#db.query('DELETE FROM audit WHERE id <= ?').run(Number(lastInsertRowid) - AUDIT_KEPT);
  }

  /** The newest entries of the audit log, newest first. */
  auditLog(limit: number): AuditEntry[] {
    return this.#db
      .query<AuditEntry, [number]>(
        'SELECT time, who, ip, request_id AS requestId, method, outcome FROM audit ORDER BY id DESC LIMIT ?',
      )
      .all(limit);
  }

  close(): void {
    closeDatabase(this.#db);
  }

  #has(id: string): boolean {
    return this.#db.query('SELECT 1 FROM keys WHERE id = ?').get(id) !== null;
  }

  #addSecret(id: string, hash: Uint8Array): void {
    this.#db.query('INSERT INTO key_secrets (key_id, hash, valid_until) VALUES (?, ?, NULL)').run(id, hash);
  }

  #change(sql: string, value: string | number, id: string): boolean {
    return this.#db.query(sql).run(value, id).changes > 0;
  }
}
