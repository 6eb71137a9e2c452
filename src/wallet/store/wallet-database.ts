import { Database } from 'bun:sqlite';
import { closeSync, existsSync, openSync } from 'node:fs';
import { CountedDatabase, isBusy } from '../../storage/counted-database.ts';
import {
  type ChainDatabaseIdentity,
  cacheSize,
  closeDatabase,
  configure,
  type DatabaseKind,
  isDamage,
  isOfChain,
  openDatabase,
  opened,
  openReadOnly,
  readMeta,
  refuseNewer,
} from '../../storage/database.ts';
import { isShortage, withDescriptors } from '../../util/descriptors.ts';
import { OperatorError } from '../../util/operator-error.ts';
import {
  HASHED_PASSPHRASE_SCHEMA_VERSION,
  WALLET_ADDITIONS,
  WALLET_SCHEMA,
  WALLET_SCHEMA_VERSION,
} from './wallet-schema.ts';

const READER_CACHE_MIB = 16;
/** How long loadwallet waits for a connection that reads the file: the calls of all clients wait meanwhile. */
const READER_WAIT_MS = 250;

const DAMAGED_WALLET = 'keep the file, and restore a backup of it under another name (restorewallet)';

const WALLET: DatabaseKind = {
  name: 'wallet',
  schema: WALLET_SCHEMA,
  version: WALLET_SCHEMA_VERSION,
  // An address or a payment that was returned to a client must survive a power failure.
  durable: true,
  whenDamaged: () => DAMAGED_WALLET,
  pageSize: 8192,
  // No part of a sealed key may remain in unused pages.
  pragmas: ['secure_delete = ON', cacheSize(32), 'temp_store = MEMORY'],
};

/** Creates a wallet's file, readable for the owner alone. Throws where it exists. */
export function createWalletDatabase(path: string, identity: ChainDatabaseIdentity): Database {
  closeSync(withDescriptors(() => openSync(path, 'ax', 0o600)));
  return openDatabase(path, WALLET, identity);
}

/**
 * Opens a wallet for its single writer. Throws OperatorError on a file of another kind, network or version, and where another
 * connection reads the file for longer than `readerWaitMs`.
 */
export function openWalletDatabase(
  path: string,
  identity: ChainDatabaseIdentity,
  readerWaitMs = READER_WAIT_MS,
): Database {
  if (!existsSync(path)) throw new OperatorError(`${path} does not exist`);
  return withDescriptors(() =>
    opened(new CountedDatabase(path, WALLET.name, { readwrite: true }), (db) => {
      // Checked first: it may be any file, which must not be changed.
      checkWallet(db, path, identity);
      useLog(db, path, readerWaitMs);
      configure(db, WALLET);
      db.run(WALLET_ADDITIONS);
      checkSchema(db, path);
    }),
  );
}

/**
 * Switches the file of a closed wallet to a log, for which no other connection may read it. Throws OperatorError where one
 * does, after a moment: a backup reads a large wallet for longer than the caller can wait.
 */
function useLog(db: Database, path: string, waitMs: number): void {
  db.run(`PRAGMA busy_timeout = ${waitMs}`);
  try {
    db.run('PRAGMA journal_mode = WAL');
  } catch (error) {
    if (!isBusy(error)) throw error;
    throw new OperatorError(`a backup or another program reads ${path}: load the wallet when it has ended`);
  }
}

/** Opens a wallet for reading while its writer has it open. */
export function openWalletReader(path: string): Database {
  return openReadOnly(path, READER_CACHE_MIB);
}

/**
 * Closes a wallet's single writer. Where no reader has the file open, its log is removed first, so that the file alone is
 * the wallet, and can be moved or copied.
 */
export function closeWalletDatabase(db: Database): void {
  try {
    db.run('PRAGMA busy_timeout = 0');
    db.run('PRAGMA journal_mode = DELETE');
  } catch {
    // A reader has it open, or the disk is full: the next connection reads the log.
  }
  closeDatabase(db);
}

/** Whether a file is a wallet of this network and version. */
export function isWalletFile(path: string, identity: ChainDatabaseIdentity): boolean {
  try {
    const db = openReadOnly(path, READER_CACHE_MIB);
    try {
      checkWallet(db, path, identity);
      checkSchema(db, path);
      return true;
    } finally {
      db.close();
    }
  } catch (error) {
    if (isShortage(error)) throw error;
    return false;
  }
}

/** An empty wallet in memory. */
let expectedSchema: Database | null = null;

/**
 * Throws OperatorError unless tables, indexes and triggers are those of this program: a foreign trigger or view could
 * change rows inside the wallet's own transactions.
 */
function checkSchema(db: Database, path: string): void {
  expectedSchema ??= opened(new Database(':memory:'), (made) => made.run(WALLET_SCHEMA));
  const expected = schemaOf(expectedSchema);
  const found = schemaOf(db);
  const [strange] = found.symmetricDifference(expected);
  if (strange !== undefined)
    throw new OperatorError(
      `${path} has another structure than a wallet (${strange.split('\n')[0]}): something other than this program changed it; restore it from a backup`,
    );
}

/** Returns the statements of a file's schema, without indexes and statistics that SQLite creates. */
function schemaOf(db: Database): ReadonlySet<string> {
  const rows = db
    .query<{ statement: string }, []>(
      `SELECT type || ' ' || name || ' on ' || tbl_name || char(10) || sql AS statement FROM sqlite_master
       WHERE sql IS NOT NULL AND NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))`,
    )
    .all();
  return new Set(rows.map(({ statement }) => statement));
}

function checkWallet(db: Database, path: string, identity: ChainDatabaseIdentity): void {
  let meta: ReadonlyMap<string, unknown>;
  try {
    meta = readMeta(db);
  } catch (error) {
    if (isShortage(error)) throw error;
    throw new OperatorError(
      isDamage(error) ? `${path} is not a wallet, or a damaged one: ${DAMAGED_WALLET}` : `${path} is not a wallet`,
    );
  }
  const schema = Number(meta.get('schema'));
  refuseNewer(path, schema, HASHED_PASSPHRASE_SCHEMA_VERSION);
  if (!(Number.isInteger(schema) && schema >= WALLET_SCHEMA_VERSION))
    throw new OperatorError(`${path} is not a wallet`);
  if (!isOfChain(meta, identity))
    throw new OperatorError(`${path} is a wallet of network ${meta.get('network')}, not of ${identity.network}`);
}
