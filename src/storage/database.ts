import { Database } from 'bun:sqlite';
import { closeSync, openSync } from 'node:fs';
import { withDescriptors } from '../util/descriptors.ts';
import { OperatorError } from '../util/operator-error.ts';

/** The chain that a database is of. */
export interface ChainDatabaseIdentity {
  readonly network: string;
  /** Display order. */
  readonly genesisHash: string;
}

/** What all databases of one kind have in common. */
export interface DatabaseKind {
  /** Makes the tables. What is of one chain has `meta (key, value)` among them. */
  readonly schema: string;
  readonly version: number;
  /** What makes the next version of an earlier one; what is not named here is not read. */
  readonly upgrades?: Readonly<Record<number, string | ((db: Database) => void)>>;
  /** Each commit survives a power cut; else the last ones may be taken back. */
  readonly durable: boolean;
  /** In bytes; only of files that are made now. */
  readonly pageSize?: number;
  /** What an operator can do when the file is damaged, as a clause that follows a colon. */
  readonly whenDamaged: (path: string) => string;
  /** What else each connection is told. */
  readonly pragmas?: readonly string[];
}

/**
 * Opens a database for its writer; makes it where there is none, readable for the owner alone. `identity` is null for
 * what is of no chain. Throws OperatorError on one of another chain or of a version that cannot be read.
 */
export function openDatabase(path: string, kind: DatabaseKind, identity: ChainDatabaseIdentity | null): Database {
  return withDescriptors(() => {
    createPrivateFile(path);
    return opened(new Database(path, { readwrite: true, create: true }), (db) => {
      try {
        configure(db, kind);
        db.transaction(() => {
          // A crash while the tables were made leaves a file without them.
          if (isEmpty(db)) makeTables(db, kind, identity);
          else bringUp(db, path, kind, identity);
        }).immediate();
      } catch (error) {
        throw isDamage(error) ? new OperatorError(`${path} is damaged: ${kind.whenDamaged(path)}`) : error;
      }
    });
  });
}

/**
 * Creates an empty file for the owner alone, whose mode SQLite gives to its journal; one that exists is not opened. To close
 * any descriptor of a file takes away every lock that this process holds on it, those of SQLite's other connections among
 * them: another program that closes the file would then remove its log.
 */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Whether SQLite found that a file is no database, or is one with damaged pages. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && /malformed|not a database/i.test(error.message);
}

/** Opens a database that another connection writes, for reading only. */
export function openReadOnly(path: string, cacheMiB: number): Database {
  return withDescriptors(() =>
    opened(new Database(path, { readonly: true }), (db) => {
      // First: the next pragma already reads the file, which another connection may just be closing.
      db.run('PRAGMA busy_timeout = 5000');
      db.run(`PRAGMA ${cacheSize(cacheMiB)}`);
      db.run('PRAGMA temp_store = MEMORY');
      // Its log and its index are opened with the first read: better now, while it can be tried again.
      db.run('PRAGMA schema_version');
    }),
  );
}

/** Does `prepare` with a connection, which is closed where that fails. */
export function opened(db: Database, prepare: (db: Database) => void): Database {
  try {
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Closes a writer's connection; leaves one file behind instead of three, where nobody else has it open. */
export function closeDatabase(db: Database): void {
  try {
    db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // On a full disk, or where a reader holds it, the log stays, and the next to open the file reads it.
  }
  db.close();
}

/** Tells a writer's connection how to work. */
export function configure(db: Database, { durable, pageSize, pragmas = [] }: DatabaseKind): void {
  db.run('PRAGMA busy_timeout = 5000');
  if (pageSize !== undefined) db.run(`PRAGMA page_size = ${pageSize}`);
  db.run('PRAGMA journal_mode = WAL');
  db.run(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`);
  for (const pragma of pragmas) db.run(`PRAGMA ${pragma}`);
}

/** Inside a transaction, in an empty file. */
function makeTables(db: Database, { schema, version }: DatabaseKind, identity: ChainDatabaseIdentity | null): void {
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

/** What a database of a chain says of itself. Throws where it has no such table. */
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

/** Throws OperatorError where a version is later than the one that is known. */
export function refuseNewer(path: string, found: number, known: number): void {
  if (found > known)
    throw new OperatorError(
      `${path} has schema ${found}, made by a newer version; this version reads up to ${known}: run the newer one`,
    );
}

/** Commits what `work` does so that a power cut does not take it back, where the connection is not durable otherwise. */
export function durably(db: Database, work: () => void): void {
  db.run('PRAGMA synchronous = FULL');
  try {
    work();
  } finally {
    db.run('PRAGMA synchronous = NORMAL');
  }
}

/** The pragma for so much memory of pages. */
export function cacheSize(mebibytes: number): string {
  return `cache_size = ${-Math.round(mebibytes * 1024)}`;
}

function isEmpty(db: Database): boolean {
  return db.query<{ n: number }, []>('SELECT count(*) AS n FROM sqlite_master').get()!.n === 0;
}

/** Checks what a database says of itself, and makes one of an earlier version what it is now. */
function bringUp(db: Database, path: string, kind: DatabaseKind, identity: ChainDatabaseIdentity | null): void {
  const meta = identity === null ? null : readMeta(db);
  const found = meta === null ? userVersion(db) : meta.get('schema');
  let version = Number(found);
  refuseNewer(path, version, kind.version);
  if (version !== kind.version && kind.upgrades?.[version] === undefined)
    throw new OperatorError(`${path} has schema ${found}; this version reads ${kind.version}`);
  if (meta !== null && identity !== null && !isOfChain(meta, identity))
    throw new OperatorError(
      `${path} belongs to network ${meta.get('network')} (genesis ${meta.get('genesis')}), not to ${identity.network} (genesis ${identity.genesisHash}): choose another datadir`,
    );
  if (version === kind.version) return;
  for (; version < kind.version; version++) {
    const upgrade = kind.upgrades![version]!;
    if (typeof upgrade === 'string') db.run(upgrade);
    else upgrade(db);
  }
  setVersion(db, version, identity);
}

/** What is of no chain keeps its version in the file's header. */
function userVersion(db: Database): number {
  return db.query<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version;
}

function setVersion(db: Database, version: number, identity: ChainDatabaseIdentity | null): void {
  if (identity === null) db.run(`PRAGMA user_version = ${version}`);
  else db.run("UPDATE meta SET value = ? WHERE key = 'schema'", [version]);
}
