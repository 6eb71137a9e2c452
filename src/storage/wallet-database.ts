import { Database } from 'bun:sqlite';
import { closeSync, existsSync, openSync } from 'node:fs';
import { OperatorError } from '../util/operator-error.ts';
import type { ChainDatabaseIdentity } from './database.ts';
import { WALLET_SCHEMA, WALLET_SCHEMA_VERSION } from './wallet-schema.ts';

/** Makes a wallet's file, readable for the owner alone. Throws where there is one already. */
export function createWalletDatabase(path: string, { network, genesisHash }: ChainDatabaseIdentity): Database {
  // SQLite gives its journal the mode of the database.
  closeSync(openSync(path, 'ax', 0o600));
  const db = new Database(path, { readwrite: true, create: true });
  try {
    prepare(db);
    db.transaction(() => {
      db.run(WALLET_SCHEMA);
      const put = db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)');
      put.run('schema', WALLET_SCHEMA_VERSION);
      put.run('network', network);
      put.run('genesis', genesisHash);
      put.finalize();
    })();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens a wallet for its one writer. Throws OperatorError on a file of another kind, network or version. */
export function openWalletDatabase(path: string, identity: ChainDatabaseIdentity): Database {
  if (!existsSync(path)) throw new OperatorError(`${path} does not exist`);
  const db = new Database(path, { readwrite: true });
  try {
    checkWallet(db, path, identity);
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Opens a wallet for reading; the writer has it open. */
export function openWalletReader(path: string): Database {
  const db = new Database(path, { readonly: true });
  db.run('PRAGMA busy_timeout = 5000');
  db.run('PRAGMA cache_size = -16384');
  db.run('PRAGMA temp_store = MEMORY');
  return db;
}

function prepare(db: Database): void {
  db.run('PRAGMA busy_timeout = 5000');
  db.run('PRAGMA page_size = 8192');
  db.run('PRAGMA journal_mode = WAL');
  // An address or a payment that was answered must survive a power cut.
  db.run('PRAGMA synchronous = FULL');
  // Nothing of a key that was sealed may stay behind in unused pages.
  db.run('PRAGMA secure_delete = ON');
  db.run('PRAGMA cache_size = -32768');
  db.run('PRAGMA temp_store = MEMORY');
}

function checkWallet(db: Database, path: string, { network, genesisHash }: ChainDatabaseIdentity): void {
  let rows: { key: string; value: unknown }[];
  try {
    rows = db
      .query<{ key: string; value: unknown }, []>(
        "SELECT key, value FROM meta WHERE key IN ('schema', 'network', 'genesis')",
      )
      .all();
  } catch {
    throw new OperatorError(`${path} is not a wallet`);
  }
  const meta = new Map(rows.map(({ key, value }) => [key, value]));
  const schema = Number(meta.get('schema'));
  if (schema > WALLET_SCHEMA_VERSION)
    throw new OperatorError(
      `${path} has schema ${schema}, made by a newer version; this version reads ${WALLET_SCHEMA_VERSION}`,
    );
  if (schema !== WALLET_SCHEMA_VERSION) throw new OperatorError(`${path} is not a wallet`);
  if (meta.get('network') !== network || meta.get('genesis') !== genesisHash)
    throw new OperatorError(`${path} is a wallet of network ${meta.get('network')}, not of ${network}`);
}
