import { Database } from 'bun:sqlite';
import { chmodSync } from 'node:fs';
import { OperatorError } from '../util/operator-error.ts';
import type { ChainDatabaseIdentity } from './database.ts';

const SCHEMA_VERSION = 2;
/** Versions that are brought to the current one when they are opened. */
const READABLE = [1, SCHEMA_VERSION];

/** Since schema 2. */
const PEER_TABLES = `
CREATE TABLE addresses (id INTEGER PRIMARY KEY CHECK (id = 1), saved_at INTEGER NOT NULL, tables BLOB NOT NULL);
CREATE TABLE anchors (position INTEGER PRIMARY KEY, peer BLOB NOT NULL);
CREATE TABLE bans (subnet TEXT PRIMARY KEY, created_at INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
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
${PEER_TABLES}`;

/**
 * Opens node.db, or makes it: what a node remembers beside the chain, none of which it cannot do without. Throws
 * OperatorError on one of another network or a newer version.
 */
export function openNodeDatabase(path: string, { network, genesisHash }: ChainDatabaseIdentity): Database {
  const db = new Database(path, { create: true, readwrite: true });
  try {
    chmodSync(path, 0o600);
    db.run('PRAGMA journal_mode = WAL');
    db.run('PRAGMA synchronous = NORMAL');
    db.run('PRAGMA busy_timeout = 5000');
    db.transaction(() => {
      const tables = db.query<{ n: number }, []>('SELECT count(*) AS n FROM sqlite_master').get()!.n;
      if (tables > 0) return;
      db.run(SCHEMA);
      const put = db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)');
      put.run('schema', SCHEMA_VERSION);
      put.run('network', network);
      put.run('genesis', genesisHash);
      put.finalize();
    })();
    checkIdentity(db, path, { network, genesisHash });
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function migrate(db: Database): void {
  db.transaction(() => {
    const schema = db.query<{ value: number }, []>("SELECT value FROM meta WHERE key = 'schema'").get();
    if (schema?.value !== 1) return;
    db.run(PEER_TABLES);
    db.run("UPDATE meta SET value = 2 WHERE key = 'schema'");
  })();
}

function checkIdentity(db: Database, path: string, { network, genesisHash }: ChainDatabaseIdentity): void {
  const rows = db.query<{ key: string; value: string | number }, []>('SELECT key, value FROM meta').all();
  const meta = new Map(rows.map(({ key, value }) => [key, value]));
  if (!READABLE.includes(Number(meta.get('schema'))))
    throw new OperatorError(`${path} has schema ${meta.get('schema')}; this version reads ${SCHEMA_VERSION}`);
  if (meta.get('network') !== network || meta.get('genesis') !== genesisHash)
    throw new OperatorError(
      `${path} belongs to network ${meta.get('network')} (genesis ${meta.get('genesis')}), not to ${network} (genesis ${genesisHash}): choose another datadir`,
    );
}
