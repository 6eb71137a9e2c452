import { Database } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';
import type { NetworkParams } from '../params/network-params.ts';
import { chainNameOf } from '../params/signet.ts';
import { hashToHex } from '../primitives/hash.ts';
import { withDescriptors } from '../util/descriptors.ts';
import type { CountedDatabaseName } from '../util/lock-failures.ts';
import { OperatorError } from '../util/operator-error.ts';
import { CountedDatabase } from './counted-database.ts';

/** Time for which a statement waits for a lock of another connection. */
export const BUSY_TIMEOUT_MS = 5000;

/** The chain that a database belongs to. */
export interface ChainDatabaseIdentity {
  readonly network: string;
  /** Hex in display order. */
  readonly genesisHash: string;
}

/** Returns the chain to which the databases of a network belong. */
export function chainIdentityOf(params: NetworkParams): ChainDatabaseIdentity {
  return { network: chainNameOf(params), genesisHash: hashToHex(params.consensus.genesisHash) };
}

/** Properties of all databases of one kind. */
export interface DatabaseKind {
  /** Name in metrics. */
  readonly name: CountedDatabaseName;
  /** Creates the tables. A database of a chain has `meta (key, value)` among them. */
  readonly schema: string;
  readonly version: number;
  /** For each older version the step to the next one; versions that are not named cannot be opened. */
  readonly upgrades?: Readonly<Record<number, string | ((db: Database) => void)>>;
  /** Whether each commit survives a power failure; otherwise the last commits may be lost. */
  readonly durable: boolean;
  /** Page size of new files, bytes. */
  readonly pageSize?: number;
  /** Advice for a damaged file, as a clause after a colon. */
  readonly whenDamaged: (path: string) => string;
  /** Further pragmas of each connection. */
  readonly pragmas?: readonly string[];
}

/**
 * Opens a database for its writer, or creates it readable for the owner alone. `identity` is null if the database
 * belongs to no chain. Throws OperatorError on a database of another chain or of a version that cannot be read.
 */
export function openDatabase(path: string, kind: DatabaseKind, identity: ChainDatabaseIdentity | null): Database {
  return withDescriptors(() => {
    createPrivateFile(path);
    return opened(new CountedDatabase(path, kind.name, { readwrite: true, create: true }), (db) => {
      try {
        configure(db, kind);
        db.transaction(() => {
          // A crash before the tables are created leaves an empty file.
          if (isEmpty(db)) createTables(db, kind, identity);
          else checkAndUpgrade(db, path, kind, identity);
        }).immediate();
      } catch (error) {
        throw isDamage(error) ? new OperatorError(`${path} is damaged: ${kind.whenDamaged(path)}`) : error;
      }
    });
  });
}

/** Opens an empty database in memory, which belongs to no chain. */
export function openMemoryDatabase(kind: DatabaseKind): Database {
  return opened(new CountedDatabase(':memory:', kind.name, { readwrite: true, create: true }), (db) => {
    configure(db, kind);
    db.transaction(() => createTables(db, kind, null)).immediate();
  });
}

/**
 * Creates an empty file for the owner alone, whose mode SQLite copies to its journal. An existing file is not opened:
 * closing any descriptor of a file releases all locks that this process holds on it, those of SQLite's other
 * connections among them, and another program that closes the database would then remove its WAL.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Whether an error of SQLite says that the file is not a database or has damaged pages. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && /malformed|not a database/i.test(error.message);
}

/** Opens a database read-only, while another connection writes it. */
export function openReadOnly(path: string, cacheMiB: number): Database {
  return withDescriptors(() =>
    opened(new Database(path, { readonly: true }), (db) => {
      // First, since the next pragma reads the file, which another connection may be closing.
      db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      db.run(`PRAGMA ${cacheSize(cacheMiB)}`);
      db.run('PRAGMA temp_store = MEMORY');
      // The first read opens the WAL and its index: do it here, where a shortage of descriptors is retried.
      db.run('PRAGMA schema_version');
    }),
  );
}

/** Opens an existing database that this process alone uses, such as a copy. */
export function openReadWrite(path: string): Database {
  return withDescriptors(() => new Database(path, { readwrite: true, create: false }));
}

/** Calls `prepare` with a connection, and closes the connection if that throws. */
export function opened(db: Database, prepare: (db: Database) => void): Database {
  try {
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Closes a writer's connection, after moving the WAL into the database file if no other connection needs it. */
export function closeDatabase(db: Database): void {
  try {
    db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // On a full disk, or while a reader is open, the WAL stays, and the next connection reads it.
  }
  db.close();
}

/** Sets the pragmas of a writer's connection. */
export function configure(db: Database, { durable, pageSize, pragmas = [] }: DatabaseKind): void {
  db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  if (pageSize !== undefined) db.run(`PRAGMA page_size = ${pageSize}`);
  db.run('PRAGMA journal_mode = WAL');
  db.run(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
  for (const pragma of pragmas) db.run(`PRAGMA ${pragma}`);
}

/** Creates the tables in an empty file, within a transaction. */
function createTables(db: Database, { schema, version }: DatabaseKind, identity: ChainDatabaseIdentity | null): void {
  db.run(schema);
  if (identity === null) {
    setVersion(db, version, identity);
    return;
  }
  const put = db.prepare('INSERT INTO meta (key, value) VALUES (?, ?)');
  put.run('schema', version);
  put.run('network', identity.network);
  put.run('genesis', identity.genesisHash);
  put.finalize();
}

/** Returns the schema, network and genesis entries of a chain's database. Throws if it has no meta table. */
export function readMeta(db: Database): ReadonlyMap<string, unknown> {
  const rows = db
    .query<{ key: string; value: unknown }, []>(
      "SELECT key, value FROM meta WHERE key IN ('schema', 'network', 'genesis')",
    )
    .all();
  return new Map(rows.map(({ key, value }) => [key, value]));
}

export function isOfChain(
  meta: ReadonlyMap<string, unknown>,
  { network, genesisHash }: ChainDatabaseIdentity,
): boolean {
  return meta.get('network') === network && meta.get('genesis') === genesisHash;
}

/** Throws OperatorError if the version is newer than the known one. */
export function refuseNewer(path: string, found: number, known: number): void {
  if (found > known)
    throw new OperatorError(
      `${path} has schema ${found}, made by a newer version; this version reads up to ${known}: run the newer one`,
    );
}

/** Runs `work` with commits that survive a power failure, on a connection that is otherwise not durable. */
export function durably(db: Database, work: () => void): void {
  db.run('PRAGMA synchronous = FULL');
  try {
    work();
  } finally {
    db.run('PRAGMA synchronous = NORMAL');
  }
}

/**
 * Runs `write` in one transaction. Where that fails, calls `discard` before it throws: with true if the error came from
 * the commit itself, which a later start may find written.
 */
export function transact(db: Database, write: () => void, discard: (mayBeCommitted: boolean) => void): void {
  let isWritten = false;
  try {
    db.transaction(() => {
      write();
      isWritten = true;
    }).immediate();
  } catch (error) {
    discard(isWritten);
    throw error;
  }
}

/** Returns the pragma for a page cache of this size. */
export function cacheSize(mebibytes: number): string {
  return `cache_size = ${-Math.round(mebibytes * 1024)}`;
}

function isEmpty(db: Database): boolean {
  return db.query<{ n: number }, []>('SELECT count(*) AS n FROM sqlite_master').get()!.n === 0;
}

/** Checks version and chain of an existing database, and upgrades an earlier version. */
function checkAndUpgrade(db: Database, path: string, kind: DatabaseKind, identity: ChainDatabaseIdentity | null): void {
  const meta = identity === null ? null : readMeta(db);
  const found = meta === null ? userVersion(db) : meta.get('schema');
  let version = Number(found);
  refuseNewer(path, version, kind.version);
  if (meta !== null && identity !== null && !isOfChain(meta, identity))
    throw new OperatorError(
      `${path} belongs to network ${meta.get('network')} (genesis ${meta.get('genesis')}), not to ${identity.network} (genesis ${identity.genesisHash}): choose another datadir`,
    );
  if (version !== kind.version && kind.upgrades?.[version] === undefined)
    throw new OperatorError(`${path} has schema ${found}; this version reads ${kind.version}`);
  if (version === kind.version) return;
  for (; version < kind.version; version++) {
    const upgrade = kind.upgrades![version]!;
    if (typeof upgrade === 'string') db.run(upgrade);
    else upgrade(db);
  }
  setVersion(db, version, identity);
}

/** A database that belongs to no chain has its version in the file header. */
function userVersion(db: Database): number {
  return db.query<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version;
}

function setVersion(db: Database, version: number, identity: ChainDatabaseIdentity | null): void {
  if (identity === null) db.run(`PRAGMA user_version = ${version}`);
  else db.run("UPDATE meta SET value = ? WHERE key = 'schema'", [version]);
}

/** Runs synchronous reads on one state of the database of a read-only connection; nested calls join the outermost. */
export function readSnapshot<T>(db: Database, read: () => T): T {
  if (db.inTransaction) return read();
  db.run('BEGIN');
  try {
    return read();
  } finally {
    db.run('COMMIT');
  }
}
