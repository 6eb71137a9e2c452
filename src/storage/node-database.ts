import type { Database } from 'bun:sqlite';
import { type ChainDatabaseIdentity, type DatabaseKind, openDatabase } from './database.ts';
import { SAMPLE_TABLE } from './sample-store.ts';

/** Since schema 2. */
const PEER_TABLES = `
CREATE TABLE addresses (id INTEGER PRIMARY KEY CHECK (id = 1), saved_at INTEGER NOT NULL, tables BLOB NOT NULL);
CREATE TABLE anchors (position INTEGER PRIMARY KEY, peer BLOB NOT NULL);
CREATE TABLE bans (subnet TEXT PRIMARY KEY, created_at INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Since schema 3. */
const WALLET_TABLE = `
CREATE TABLE wallets (name TEXT PRIMARY KEY, in_use INTEGER NOT NULL) WITHOUT ROWID;
`;

/** Since schema 4. */
const ENCRYPTED_WALLET_TABLE = `
CREATE TABLE encrypted_wallets (name TEXT PRIMARY KEY) WITHOUT ROWID;
`;

const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE mempool (
  txid BLOB PRIMARY KEY,
  arrival INTEGER NOT NULL,
  raw BLOB NOT NULL,
  time INTEGER NOT NULL,
  unbroadcast INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE fee_history (id INTEGER PRIMARY KEY CHECK (id = 1), saved_at INTEGER NOT NULL, history BLOB NOT NULL);
CREATE TABLE fee_deltas (txid BLOB PRIMARY KEY, delta INTEGER NOT NULL) WITHOUT ROWID;
${PEER_TABLES}${WALLET_TABLE}${ENCRYPTED_WALLET_TABLE}${SAMPLE_TABLE}`;

const NODE: DatabaseKind = {
  name: 'node',
  schema: SCHEMA,
  version: 5,
  upgrades: { 1: PEER_TABLES, 2: WALLET_TABLE, 3: ENCRYPTED_WALLET_TABLE, 4: SAMPLE_TABLE },
  durable: false,
  whenDamaged: (path) =>
    `remove ${path}, ${path}-wal and ${path}-shm; they hold the saved mempool, fee history, addresses of peers, bans and samples for charts, and no wallet or key`,
};

/**
 * Opens or creates node.db, which holds the data of a node besides the chain; the node can work without any of it.
 * Throws OperatorError on a database of another network or of a newer version.
 */
export function openNodeDatabase(path: string, identity: ChainDatabaseIdentity): Database {
  return openDatabase(path, NODE, identity);
}
