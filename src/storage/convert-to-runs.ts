import { Database } from 'bun:sqlite';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { withDescriptors } from '../util/descriptors.ts';
import { OperatorError } from '../util/operator-error.ts';
import { syncDirectory } from '../util/sync-directory.ts';
import { syncAgainAdvice } from './chain-folder.ts';
import { LIST_EARLIER_INDEXES, SCHEMA, SCHEMA_VERSION } from './chain-schema.ts';
import { type ConversionOptions, ConversionProgress } from './conversion-progress.ts';
import { convertRows } from './convert-rows.ts';
import {
  BUSY_TIMEOUT_MS,
  type ChainDatabaseIdentity,
  createPrivateFile,
  isDamage,
  isOfChain,
  openReadOnly,
  readMeta,
} from './database.ts';
import { RunManifestWriter, runFolder } from './runs/run-manifest.ts';
import { createScriptSalt } from './script-salt.ts';

/** The version that had coins, the transaction index and the address index in tables. */
const OLD_VERSION = 1;
/** Tables that the conversion copies; all have an integer as key. An old database may lack the last two. */
const COPIED = ['headers', 'chain', 'txs', 'events', 'event_ranges', 'filters'] as const;
/** Rows that one statement copies. */
const COPY_ROWS = 50_000;
const CACHE_MIB = 32;
const MEBIBYTE = 2 ** 20;

/**
 * Converts a chain.db of schema version 1 to runs and a new chain.db, which replaces the old one when everything in it
 * is durable. Until then the old one is only read, so that an interrupted conversion is done again by the next start.
 * Does nothing to any other database. Throws OperatorError if the disk has too little space, if another program has the
 * database open, or if it is damaged.
 */
export function convertToRuns(path: string, identity: ChainDatabaseIdentity, options: ConversionOptions): void {
  if (!existsSync(path)) return;
  try {
    if (!isOld(path, identity)) return;
    const old = withDescriptors(() => new Database(path, { readwrite: true, create: false }));
    try {
      old.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      new Conversion(old, path, options).run();
    } finally {
      old.close();
    }
  } catch (error) {
    throw isDamage(error) ? new OperatorError(`${path} is damaged: ${syncAgainAdvice(dirname(path))}`) : error;
  }
}

/** Whether a database is of the schema that `convertToRuns` converts. A damaged one is not, and its opening reports that. */
export function needsConversion(path: string, identity: ChainDatabaseIdentity): boolean {
  try {
    return existsSync(path) && isOld(path, identity);
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  }
}

function isOld(path: string, identity: ChainDatabaseIdentity): boolean {
  const db = openReadOnly(path, 1);
  try {
    // A crash before the tables are created leaves an empty file.
    if (db.query("SELECT 1 FROM sqlite_master WHERE name = 'meta'").get() === null) return false;
    const meta = readMeta(db);
    return meta.get('schema') === OLD_VERSION && isOfChain(meta, identity);
  } finally {
    db.close();
  }
}

class Conversion {
  readonly #db: Database;
  readonly #path: string;
  readonly #progress: ConversionProgress;

  constructor(old: Database, path: string, options: ConversionOptions) {
    this.#db = old;
    this.#path = path;
    this.#progress = new ConversionProgress(options);
  }

  run(): void {
    const bytes = this.#checkSpace();
    this.#progress.begin(bytes);
    this.#endJournal();
    this.#removeFiles();
    try {
      this.#write();
      this.#progress.step();
      this.#replace();
    } catch (error) {
      this.#removeFiles();
      throw error;
    }
    this.#progress.finish();
  }

  get #newPath(): string {
    return `${this.#path}.converting`;
  }

  /** Runs and copied tables together are smaller than the old database. Returns the bytes that it uses. */
  #checkSpace(): number {
    const number = (pragma: string) => Number(Object.values(this.#db.query(`PRAGMA ${pragma}`).get() as object)[0]);
    const bytes = (number('page_count') - number('freelist_count')) * number('page_size');
    const chainDir = dirname(this.#path);
    const { bavail, bsize } = statfsSync(chainDir);
    const free = bavail * bsize;
    if (free < bytes)
      throw new OperatorError(
        `${this.#path} has an earlier format, and its conversion needs ${Math.ceil(bytes / MEBIBYTE)} MiB of disk space, of which ${Math.floor(free / MEBIBYTE)} MiB are free: free some space and start again, or ${syncAgainAdvice(chainDir)}`,
      );
    return bytes;
  }

  /** Moves the WAL into the file and removes it: no WAL may be beside the new database when it gets its name. */
  #endJournal(): void {
    try {
      this.#db.run('PRAGMA journal_mode = DELETE');
    } catch (error) {
      if (!/locked|busy/i.test(String(error))) throw error;
      throw new OperatorError(
        `${this.#path} has an earlier format and must be converted, but another program has it open: close that program and start again`,
      );
    }
  }

  /** Removes the files that an interrupted conversion left. */
  #removeFiles(): void {
    // A journal beside a new file of the same name would be rolled back into it.
    for (const part of ['', '-journal', '-wal', '-shm']) rmSync(this.#newPath + part, { force: true });
    const folder = runFolder(dirname(this.#path));
    if (!existsSync(folder)) return;
    for (const name of readdirSync(folder)) if (/\.run(\.index)?$/.test(name)) rmSync(join(folder, name));
  }

  #write(): void {
    const db = this.#db;
    const chainDir = dirname(this.#path);
    const folder = runFolder(chainDir);
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) syncDirectory(chainDir);
    createPrivateFile(this.#newPath);
    const made = new Database(this.#newPath);
    try {
      made.run('PRAGMA page_size = 8192');
      // The file counts only when it is complete and synced, so it needs neither a journal on disk nor syncs before.
      made.run('PRAGMA journal_mode = MEMORY');
      made.run('PRAGMA synchronous = OFF');
      made.run(SCHEMA);
      this.#copyTables(made);
      made.run(LIST_EARLIER_INDEXES);
      const salt = createScriptSalt(made);
      db.run(`PRAGMA cache_size = ${-CACHE_MIB * 1024}`);
      const writer = new RunManifestWriter(made);
      convertRows(db, chainDir, { salt, writer, progress: this.#progress });
      writer.setVersion(1);
      writer.finalize();
      made.close(true);
    } catch (error) {
      made.close();
      throw error;
    }
    syncDirectory(folder);
    syncFile(this.#newPath);
  }

  #copyTables(made: Database): void {
    made.run('ATTACH DATABASE ? AS old', [this.#path]);
    made.run("INSERT INTO meta SELECT key, value FROM old.meta WHERE key NOT IN ('schema', 'lastScriptId')");
    made.run("INSERT INTO meta VALUES ('schema', ?)", [SCHEMA_VERSION]);
    for (const table of COPIED)
      if (made.query('SELECT 1 FROM old.sqlite_master WHERE name = ?').get(table) !== null) this.#copy(made, table);
    made.run('DETACH DATABASE old');
  }

  #copy(made: Database, table: string): void {
    const names = made.query<{ name: string }, []>(`SELECT name FROM pragma_table_info('${table}')`).all();
    const columns = names.map(({ name }) => name).join(', ');
    const last = made.query<{ last: number | null }, []>(`SELECT max(rowid) AS last FROM old.${table}`).get()!.last;
    const reached = made.prepare<{ last: number }, []>(`SELECT max(rowid) AS last FROM main.${table}`);
    const copy = made.prepare(
      `INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM old.${table} WHERE rowid > ? ORDER BY rowid LIMIT ${COPY_ROWS}`,
    );
    let rows = 0;
    for (let at = Number.MIN_SAFE_INTEGER; last !== null && at < last; at = reached.get()!.last) {
      rows += copy.run(at).changes;
      this.#progress.update(table, rows, Math.max(at, 0) / Math.max(last, 1));
    }
    // An open statement would keep the old database from being detached.
    copy.finalize();
    reached.finalize();
  }

  #replace(): void {
    // Throws if a statement is still open: it would keep the old file, and its space, until the end of the process.
    this.#db.close(true);
    renameSync(this.#newPath, this.#path);
    syncDirectory(dirname(this.#path));
  }
}

function syncFile(path: string): void {
  const fd = openSync(path, 'r+');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
