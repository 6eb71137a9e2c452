import { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { OperatorError } from '../util/operator-error.ts';
import { FILTER_SCHEMA, SCHEMA, SCHEMA_VERSION } from './schema.ts';

export interface ChainDatabaseIdentity {
  readonly network: string;
  /** Display order. */
  readonly genesisHash: string;
}

const MEBIBYTE = 1024 * 1024;

/** Opens chain.db for the one writer; makes it where there is none. Throws OperatorError on a database of another kind. */
export function openWriter(path: string, identity: ChainDatabaseIdentity, cacheMiB: number): Database {
  const fresh = !existsSync(path);
  const db = new Database(path, { create: true, readwrite: true });
  try {
    db.run('PRAGMA page_size = 8192');
    db.run('PRAGMA journal_mode = WAL');
    db.run('PRAGMA synchronous = NORMAL');
    db.run(`PRAGMA cache_size = ${-Math.round((cacheMiB * MEBIBYTE) / 1024)}`);
    db.run('PRAGMA wal_autocheckpoint = 20000');
    db.run('PRAGMA busy_timeout = 5000');
    db.run('PRAGMA temp_store = MEMORY');
    // A crash while the tables were made leaves a file without them.
    if (fresh || tableCount(db) === 0) createTables(db, identity);
    else {
      checkIdentity(db, path, identity);
      db.run(FILTER_SCHEMA);
    }
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens chain.db for reading only. */
export function openReader(path: string, cacheMiB = 64): Database {
  const db = new Database(path, { readonly: true });
  // First: the next pragma already reads the file, which another connection may just be closing.
  db.run('PRAGMA busy_timeout = 5000');
  db.run(`PRAGMA cache_size = ${-Math.round((cacheMiB * MEBIBYTE) / 1024)}`);
  db.run('PRAGMA temp_store = MEMORY');
  return db;
}

function tableCount(db: Database): number {
  return db.query<{ n: number }, []>('SELECT count(*) AS n FROM sqlite_master').get()!.n;
}

function createTables(db: Database, { network, genesisHash }: ChainDatabaseIdentity): void {
  db.transaction(() => {
    db.run(SCHEMA);
    const put = db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)');
    put.run('schema', SCHEMA_VERSION);
    put.run('network', network);
    put.run('genesis', genesisHash);
    put.finalize();
  })();
}

function checkIdentity(db: Database, path: string, { network, genesisHash }: ChainDatabaseIdentity): void {
  const rows = db.query<{ key: string; value: string | number }, []>('SELECT key, value FROM meta').all();
  const meta = new Map(rows.map(({ key, value }) => [key, value]));
  const schema = Number(meta.get('schema'));
  if (schema > SCHEMA_VERSION)
    throw new OperatorError(
      `${path} has schema ${schema}, made by a newer version; this version reads up to ${SCHEMA_VERSION}: run the newer one`,
    );
  if (schema !== SCHEMA_VERSION)
    throw new OperatorError(`${path} has schema ${meta.get('schema')}; this version reads ${SCHEMA_VERSION}`);
  if (meta.get('network') !== network || meta.get('genesis') !== genesisHash)
    throw new OperatorError(
      `${path} belongs to network ${meta.get('network')} (genesis ${meta.get('genesis')}), not to ${network} (genesis ${genesisHash}): choose another datadir`,
    );
}
