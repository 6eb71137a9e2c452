import type { Database } from 'bun:sqlite';
import { closeDatabase } from '../storage/database.ts';
import { AuditStore } from './audit/audit-store.ts';
import { openAuthDatabase, openAuthMemory } from './auth-database.ts';

/** A key as auth.db holds it, without its secret. Times are Unix seconds. */
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
  /** Names of the wallets that the key may use; null allows all wallets. */
  readonly wallets: readonly string[] | null;
  readonly lastUsedAt: number | null;
}

/** The members of a key that can be changed. */
export type KeyChanges = Partial<Pick<KeyRecord, 'label' | 'scopes' | 'expiresAt' | 'allowedIps' | 'rate' | 'wallets'>>;

/** One of the secrets of a key: two are valid during a rotation. */
export interface KeySecret {
  readonly keyId: string;
  /** SHA-256, 32 bytes. */
  readonly hash: Uint8Array;
  /** Unix seconds; null while the key itself is valid. */
  readonly validUntil: number | null;
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
  wallets: string | null;
}

/** auth.db: API keys and the audit log. The running node and the key commands may open it at the same time. */
export class AuthStore {
  readonly audit: AuditStore;
  readonly #db: Database;
  readonly #dataVersion;
  readonly #keysVersion;
  readonly #keys;
  readonly #secrets;
  readonly #touch;

  /**
   * Opens the file, and creates it where it does not exist, readable only for its owner; null opens an empty store in
   * memory. Throws OperatorError on a newer schema.
   */
  constructor(path: string | null) {
    this.#db = path === null ? openAuthMemory() : openAuthDatabase(path);
    this.audit = new AuditStore(this.#db);
    this.#dataVersion = this.#db.prepare<{ data_version: number }, []>('PRAGMA data_version');
    this.#keysVersion = this.#db.prepare<{ version: number }, []>('SELECT version FROM key_state');
    this.#keys = this.#db.prepare<KeyRow, []>('SELECT * FROM keys ORDER BY created_at, id');
    this.#secrets = this.#db.prepare<{ key_id: string; hash: Uint8Array; valid_until: number | null }, []>(
      'SELECT key_id, hash, valid_until FROM key_secrets',
    );
    this.#touch = this.#db.prepare<null, [number, string, number]>(
      'UPDATE keys SET last_used_at = ? WHERE id = ? AND coalesce(last_used_at, 0) < ?',
    );
  }

  /** A number that changes when another connection commits, but not when this one does. */
  dataVersion(): number {
    return this.#dataVersion.get()!.data_version;
  }

  /**
   * A number that changes with every change of a key or a secret by any connection, but not with last uses and audit
   * rows.
   */
  keysVersion(): number {
    return this.#keysVersion.get()!.version;
  }

  /** Returns all keys, oldest first, including revoked and expired ones. */
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
      wallets: row.wallets === null ? null : (JSON.parse(row.wallets) as string[]),
      lastUsedAt: row.last_used_at,
    }));
  }

  secrets(): KeySecret[] {
    return this.#secrets
      .all()
      .map(({ key_id, hash, valid_until }) => ({ keyId: key_id, hash, validUntil: valid_until }));
  }

  /** Runs `work` in one transaction that holds the write lock from its beginning. */
  transaction<T>(work: () => T): T {
    return this.#db.transaction(work).immediate();
  }

  /** Throws when a key with that id exists. */
  createKey(record: KeyRecord, secret: Uint8Array): void {
    this.transaction(() => {
      this.#insertKey(record);
      this.#addSecret({ keyId: record.id, hash: secret, validUntil: null });
      this.#bumpVersion();
    });
  }

  /** Replaces all keys and secrets by others in one transaction. */
  replaceKeys(keys: readonly KeyRecord[], secrets: readonly KeySecret[]): void {
    this.transaction(() => {
      this.#db.run('DELETE FROM key_secrets');
      this.#db.run('DELETE FROM keys');
      for (const key of keys) this.#insertKey(key);
      for (const secret of secrets) this.#addSecret(secret);
      this.#bumpVersion();
    });
  }

  /**
   * Adds a secret to a key. Its present secrets stay valid until `oldValidUntil`; those that ended by `endedBy` are
   * deleted. Returns false for an unknown id.
   */
  rotateKey(id: string, secret: Uint8Array, oldValidUntil: number, endedBy = 0): boolean {
    return this.transaction(() => {
      if (!this.#has(id)) return false;
      this.#db
        .query('UPDATE key_secrets SET valid_until = min(coalesce(valid_until, ?2), ?2) WHERE key_id = ?1')
        .run(id, oldValidUntil);
      // Secrets that have ended can never become valid again.
      this.#db.query('DELETE FROM key_secrets WHERE key_id = ? AND valid_until <= ?').run(id, endedBy);
      this.#addSecret({ keyId: id, hash: secret, validUntil: null });
      this.#bumpVersion();
      return true;
    });
  }

  /** Returns false for an unknown id. A key that was revoked before keeps its time. */
  revokeKey(id: string, at: number): boolean {
    return this.transaction(() => this.#set(id, 'revoked_at = coalesce(revoked_at, ?)', at));
  }

  /** Changes the given members. Returns false for an unknown id. */
  changeKey(id: string, changes: KeyChanges): boolean {
    const { label, scopes, expiresAt, allowedIps, rate, wallets } = changes;
    return this.transaction(() => {
      if (!this.#has(id)) return false;
      if (label !== undefined) this.#set(id, 'label = ?', label);
      if (scopes !== undefined) this.#set(id, 'scopes = ?', JSON.stringify(scopes));
      if (expiresAt !== undefined) this.#set(id, 'expires_at = ?', expiresAt);
      if (allowedIps !== undefined) this.#set(id, 'allowed_ips = ?', jsonOrNull(allowedIps));
      if (rate !== undefined) this.#set(id, 'rate = ?', jsonOrNull(rate));
      if (wallets !== undefined) this.#set(id, 'wallets = ?', jsonOrNull(wallets));
      return true;
    });
  }

  /** Records when keys were last used, without waiting for the disk. */
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

  close(): void {
    closeDatabase(this.#db);
  }

  #has(id: string): boolean {
    return this.#db.query('SELECT 1 FROM keys WHERE id = ?').get(id) !== null;
  }

  #insertKey(record: KeyRecord): void {
    this.#db
      .query(
        `INSERT INTO keys (id, label, scopes, created_at, expires_at, revoked_at, allowed_ips, rate, last_used_at, wallets)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        record.id,
        record.label,
        JSON.stringify(record.scopes),
        record.createdAt,
        record.expiresAt,
        record.revokedAt,
        jsonOrNull(record.allowedIps),
        jsonOrNull(record.rate),
        record.lastUsedAt,
        jsonOrNull(record.wallets),
      );
  }

  #addSecret({ keyId, hash, validUntil }: KeySecret): void {
    this.#db.query('INSERT INTO key_secrets (key_id, hash, valid_until) VALUES (?, ?, ?)').run(keyId, hash, validUntil);
  }

  #set(id: string, assignment: string, value: string | number | null): boolean {
    this.#bumpVersion();
    return this.#db.query(`UPDATE keys SET ${assignment} WHERE id = ?`).run(value, id).changes > 0;
  }

  #bumpVersion(): void {
    this.#db.run('UPDATE key_state SET version = version + 1');
  }
}

function jsonOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
