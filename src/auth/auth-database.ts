import type { Database } from 'bun:sqlite';
import { type DatabaseKind, openDatabase, openMemoryDatabase } from '../storage/database.ts';
import { AuditStore } from './audit/audit-store.ts';

const AUDIT_TABLES = `
CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  who TEXT NOT NULL,
  ip TEXT NOT NULL,
  request_id TEXT NOT NULL,
  method TEXT NOT NULL,
  wallet TEXT,
  key_id TEXT,
  txid TEXT,
  outcome TEXT NOT NULL,
  completes INTEGER,
  hash BLOB NOT NULL
);
CREATE INDEX audit_who ON audit (who);
CREATE INDEX audit_method ON audit (method);
CREATE INDEX audit_time ON audit (time);
CREATE UNIQUE INDEX audit_completes ON audit (completes) WHERE completes IS NOT NULL;
CREATE TABLE audit_state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  base_id INTEGER NOT NULL,
  base_hash BLOB NOT NULL,
  last_id INTEGER NOT NULL,
  last_hash BLOB NOT NULL
);
INSERT INTO audit_state VALUES (1, 0, zeroblob(32), 0, zeroblob(32));
`;

const KEY_STATE = `
CREATE TABLE key_state (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL);
INSERT INTO key_state VALUES (1, 1);
`;

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
  last_used_at INTEGER,
  wallets TEXT
);
CREATE TABLE key_secrets (
  key_id TEXT NOT NULL REFERENCES keys (id),
  hash BLOB NOT NULL,
  valid_until INTEGER,
  PRIMARY KEY (key_id, hash)
) WITHOUT ROWID;
${KEY_STATE}${AUDIT_TABLES}`;

const AUTH: DatabaseKind = {
  name: 'auth',
  schema: SCHEMA,
  version: 2,
  upgrades: { 1: addWalletsAndChainedAudit },
  // An issued key and the record of a spend must survive a power failure.
  durable: true,
  pragmas: ['foreign_keys = ON'],
  whenDamaged: (path) =>
    `restore a copy of it, or move ${path} away, with the audit log in it: the node then writes a new initial.key, and all other keys must be issued again`,
};

/**
 * Opens auth.db, and creates it where it does not exist, readable only for its owner. Throws OperatorError on a newer
 * schema.
 */
export function openAuthDatabase(path: string): Database {
  return openDatabase(path, AUTH, null);
}

/** Opens an empty auth.db in memory. */
export function openAuthMemory(): Database {
  return openMemoryDatabase(AUTH);
}

interface OldAuditRow {
  time: number;
  who: string;
  ip: string;
  request_id: string;
  method: string;
  outcome: string;
}

/** Version 1 had keys without wallets, and an audit table without hashes. */
function addWalletsAndChainedAudit(db: Database): void {
  db.run('ALTER TABLE keys ADD COLUMN wallets TEXT');
  db.run(KEY_STATE);
  const old = db.query<OldAuditRow, []>('SELECT * FROM audit ORDER BY id').all();
  db.run('DROP TABLE audit');
  db.run(AUDIT_TABLES);
  new AuditStore(db).append(
    old.map(({ request_id: requestId, ...row }) => ({ ...row, requestId, wallet: null, keyId: null, txid: null })),
  );
}
