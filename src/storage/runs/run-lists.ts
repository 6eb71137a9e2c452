import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { DecodeError } from '../../util/bytes.ts';
import { Run } from './run.ts';
import type { RunFamily } from './run-family.ts';
import { RunManifest, type RunRecord, runFileName, runFolder } from './run-manifest.ts';
import { FileSource, MemorySource } from './run-source.ts';

/** Access to the runs of the snapshot that the caller reads. */
export interface RunLists {
  /** Returns the runs of a family, the youngest first. */
  runsOf(family: RunFamily): readonly Run[];
}

/** Opens a run. A run in the database is loaded whole; it is small. */
export function openRun(chainDir: string, record: RunRecord, manifest: RunManifest, pinned: boolean): Run {
  const { id, family } = record;
  const source = record.inTable
    ? new MemorySource(`${family.name} ${id}`, manifest.image(id))
    : new FileSource(join(runFolder(chainDir), runFileName(id, family)));
  try {
    return new Run(family, source, pinned, id);
  } catch (error) {
    source.close();
    throw error;
  }
}

/** A file of the list is missing, since it left the list after the snapshot began: a later snapshot does not name it. */
export class RunFileMissing extends Error {
  override readonly name = 'RunFileMissing';
}

/**
 * The runs that a read-only connection sees. The files of all families are opened when the list is read: the writer
 * removes a file a minute after it left the list, and a snapshot may be older than that when it first reads a family.
 */
export class ReaderRuns implements RunLists {
  readonly #dir: string;
  readonly #manifest: RunManifest;
  readonly #open = new Map<number, Run>();
  /** The runs of each family, the youngest first; or the error of a run that cannot be opened. */
  #lists = new Map<RunFamily, Run[] | Error>();
  #version = -1;
  /** Number of the state of the database whose list was compared last; null without one. */
  #dataVersion: number | null = null;
  #inSnapshot = false;
  /** Whether the opened runs are those of the current snapshot. */
  #checked = false;

  constructor(db: Database, chainDir: string) {
    this.#dir = chainDir;
    this.#manifest = new RunManifest(db);
  }

  runsOf(family: RunFamily): readonly Run[] {
    if (!this.#checked) {
      this.#checkList();
      this.#checked = this.#inSnapshot;
    }
    const list = this.#lists.get(family) ?? [];
    if (list instanceof Error) throw list;
    return list;
  }

  /**
   * Must be called as the first read of a snapshot: reads the list, which stays the same until `endSnapshot`. Throws
   * RunFileMissing if a file of the list was removed meanwhile; the caller begins another snapshot. `dataVersion` is the
   * number of the snapshot's state, if it is known: the list of the same state is not read again.
   */
  beginSnapshot(dataVersion: number | null = null): void {
    if (dataVersion === null || dataVersion !== this.#dataVersion) this.#checkList();
    this.#dataVersion = dataVersion;
    this.#inSnapshot = true;
    this.#checked = true;
  }

  endSnapshot(): void {
    this.#inSnapshot = false;
    this.#checked = false;
  }

  close(): void {
    for (const run of this.#open.values()) run.close();
    this.#open.clear();
    this.#lists.clear();
    this.#version = -1;
    this.#dataVersion = null;
  }

  /** Compares the version of the list in the current snapshot with the opened runs. */
  #checkList(): void {
    const { version } = this.#manifest;
    if (version !== this.#version) this.#reload(version);
  }

  /** Opens the runs of the list and closes those that left it. */
  #reload(version: number): void {
    this.#version = -1;
    this.#dataVersion = null;
    const records = this.#manifest.all();
    const current = new Set(records.map(({ id }) => id));
    for (const [id, run] of this.#open)
      if (!current.has(id)) {
        run.close();
        this.#open.delete(id);
      }
    this.#lists = new Map();
    for (const record of records) {
      const list = this.#lists.get(record.family) ?? [];
      if (list instanceof Error) continue;
      try {
        list.unshift(this.#run(record));
        this.#lists.set(record.family, list);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT')
          throw new RunFileMissing(`the database needs ${(error as NodeJS.ErrnoException).path}, which is missing`);
        // A damaged run must not stop reads of other families.
        if (!(error instanceof DecodeError)) throw error;
        this.#lists.set(record.family, error);
      }
    }
    this.#version = version;
  }

  #run(record: RunRecord): Run {
    let run = this.#open.get(record.id);
    if (run === undefined) {
      run = openRun(this.#dir, record, this.#manifest, false);
      this.#open.set(record.id, run);
    }
    return run;
  }
}
