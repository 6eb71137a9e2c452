import type { Database } from 'bun:sqlite';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DecodeError } from '../../util/bytes.ts';
import { RUN_FAMILIES, type RunFamily } from './run-family.ts';

/**
 * The runs that make up the current state. A small run is stored in its row, a large one in a file. Runs of a family are
 * ordered by `age`: those of later commits are younger, and a merged run has the age of the youngest that it replaces.
 * Older databases lack the table, so it is created when they are opened.
 */
export const RUN_SCHEMA = `
CREATE TABLE IF NOT EXISTS runs (
  id INTEGER PRIMARY KEY, family INTEGER NOT NULL, age INTEGER NOT NULL, entries INTEGER NOT NULL,
  bytes INTEGER NOT NULL, image BLOB
);
`;

export interface RunRecord {
  readonly id: number;
  readonly family: RunFamily;
  readonly age: number;
  readonly entries: number;
  readonly bytes: number;
  /** Whether the row itself holds the run. */
  readonly inTable: boolean;
}

/** Returns the folder of the files, in the folder of the chain. */
export function runFolder(chainDir: string): string {
  return join(chainDir, 'runs');
}

export function runFileName(id: number, family: RunFamily): string {
  return `${family.name}-${String(id).padStart(8, '0')}.run`;
}

/** Returns the number of files of runs; 0 without a folder. */
export function countRunFiles(chainDir: string): number {
  const folder = runFolder(chainDir);
  return existsSync(folder) ? readdirSync(folder).length : 0;
}

function familyOf(code: number): RunFamily {
  const family = RUN_FAMILIES.find((known) => known.code === code);
  if (family === undefined) throw new DecodeError(`the database has runs of an unknown family ${code}`);
  return family;
}

interface RunRow {
  id: number;
  family: number;
  age: number;
  entries: number;
  bytes: number;
  in_table: number;
}

/** Read access to the list of runs. */
export class RunManifest {
  readonly #version;
  readonly #all;
  readonly #image;

  constructor(db: Database) {
    this.#version = db.prepare<{ value: number }, []>("SELECT value FROM meta WHERE key = 'runsVersion'");
    this.#all = db.prepare<RunRow, []>(
      'SELECT id, family, age, entries, bytes, image IS NOT NULL AS in_table FROM runs ORDER BY age',
    );
    this.#image = db.prepare<{ image: Uint8Array | null }, [number]>('SELECT image FROM runs WHERE id = ?');
  }

  /** A number that changes with the list. */
  get version(): number {
    return this.#version.get()?.value ?? 0;
  }

  /** Returns all runs, the oldest first. */
  all(): RunRecord[] {
    return this.#all.all().map((row) => ({
      id: row.id,
      family: familyOf(row.family),
      age: row.age,
      entries: row.entries,
      bytes: row.bytes,
      inTable: row.in_table === 1,
    }));
  }

  /** Returns the bytes of a run that its row holds. */
  image(id: number): Uint8Array {
    const row = this.#image.get(id);
    if (!row?.image) throw new DecodeError(`run ${id} is not in the database`);
    return row.image;
  }
}

/** Write access to the list of runs for the single writer, within its transaction. */
export class RunManifestWriter {
  readonly #insert;
  readonly #remove;
  readonly #move;
  readonly #putVersion;

  constructor(db: Database) {
    this.#insert = db.prepare('INSERT INTO runs (id, family, age, entries, bytes, image) VALUES (?, ?, ?, ?, ?, ?)');
    this.#remove = db.prepare('DELETE FROM runs WHERE id = ?');
    this.#move = db.prepare('UPDATE runs SET family = ? WHERE family = ?');
    this.#putVersion = db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('runsVersion', ?)");
  }

  insertRun({ id, family, age, entries, bytes }: Omit<RunRecord, 'inTable'>, image: Uint8Array | null): void {
    this.#insert.run(id, family.code, age, entries, bytes, image);
  }

  removeRun(id: number): void {
    this.#remove.run(id);
  }

  /** Moves all runs of one family to another. */
  moveRuns(from: RunFamily, to: RunFamily): void {
    this.#move.run(to.code, from.code);
  }

  setVersion(version: number): void {
    this.#putVersion.run(version);
  }

  /** Ends the statements, so that the database can be closed. */
  finalize(): void {
    for (const statement of [this.#insert, this.#remove, this.#putVersion]) statement.finalize();
  }
}
