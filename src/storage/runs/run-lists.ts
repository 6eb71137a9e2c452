import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { Run } from './run.ts';
import type { RunFamily } from './run-family.ts';
import { RunManifest, type RunRecord, runFileName, runFolder } from './run-manifest.ts';
import { FileSource, MemorySource } from './run-source.ts';

/** Access to the runs of the state that the caller reads. */
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

/**
 * The runs that a read-only connection sees. Each call compares the version of the list in the current snapshot with
 * the opened runs. The files of a family are opened at its first use, all at once: the writer removes a file a minute
 * after it left the list.
 */
export class ReaderRuns implements RunLists {
  readonly #dir: string;
  readonly #manifest: RunManifest;
  readonly #open = new Map<number, Run>();
  #lists = new Map<RunFamily, Run[]>();
  /** The current list by family, the youngest first. */
  #records = new Map<RunFamily, RunRecord[]>();
  #version = -1;
  #inSnapshot = false;
  /** Whether the opened runs are those of the current snapshot. */
  #checked = false;

  constructor(db: Database, chainDir: string) {
    this.#dir = chainDir;
    this.#manifest = new RunManifest(db);
  }

  runsOf(family: RunFamily): readonly Run[] {
    if (!this.#checked) {
      const { version } = this.#manifest;
      if (version !== this.#version) this.#reload(version);
      this.#checked = this.#inSnapshot;
    }
    return this.#lists.get(family) ?? this.#openFamily(family);
  }

  /** Called where a snapshot begins: the list is read once until `endSnapshot`. */
  beginSnapshot(): void {
    this.#inSnapshot = true;
    this.#checked = false;
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
  }

  /** Closes the runs that left the list. */
  #reload(version: number): void {
    const records = this.#manifest.all();
    const current = new Set(records.map(({ id }) => id));
    for (const [id, run] of this.#open)
      if (!current.has(id)) {
        run.close();
        this.#open.delete(id);
      }
    this.#lists = new Map();
    this.#records = new Map();
    for (const record of records) {
      const list = this.#records.get(record.family) ?? [];
      list.unshift(record);
      this.#records.set(record.family, list);
    }
    this.#version = version;
  }

  #openFamily(family: RunFamily): readonly Run[] {
    const list = (this.#records.get(family) ?? []).map((record) => this.#run(record));
    this.#lists.set(family, list);
    return list;
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
