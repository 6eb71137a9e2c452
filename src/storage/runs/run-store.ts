import type { Database } from 'bun:sqlite';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert } from '../../util/assert.ts';
import { DecodeError } from '../../util/bytes.ts';
import type { Clock } from '../../util/clock.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { syncDirectory } from '../../util/sync-directory.ts';
import { syncAgainAdvice } from '../chain-folder.ts';
import { durably, transact } from '../database.ts';
import { DroppedFiles } from './dropped-files.ts';
import { dueMerge } from './merge-policy.ts';
import { IMAGE_LIMIT, type MergeJob, mergeRuns } from './merge-runs.ts';
import { Run } from './run.ts';
import type { RunBatch } from './run-batch.ts';
import type { BuiltRun } from './run-builder.ts';
import { buildRun } from './run-builder.ts';
import { BACKGROUND_COINS, COINS, familyTitle, RUN_FAMILIES, type RunFamily } from './run-family.ts';
import { openRun, type RunLists } from './run-lists.ts';
import { RunManifest, RunManifestWriter, type RunRecord, runFileName, runFolder } from './run-manifest.ts';
import { FileSource, MemorySource } from './run-source.ts';

/** Runs up to this size in all are merged together with a commit, larger ones in the background. */
const INLINE_LIMIT = 128 * 1024;
/** Names of files of runs, and of indexes while they are written. */
const OWN_NAME = /\.run(\.index)?$/;
/** Runs of one family above which commits wait for merges; up to 70 are usual, 7 of each of the ten sizes up to 64 GB. */
const RUN_LIMIT = 96;

/** Number of runs of a family, and their bytes. */
export interface RunCount {
  readonly family: string;
  readonly runs: number;
  readonly bytes: number;
}

interface OpenRun {
  readonly record: RunRecord;
  readonly run: Run;
}

/** A run that is built and not listed yet. */
export interface UnlistedRun {
  readonly family: RunFamily;
  readonly id: number;
  readonly run: BuiltRun;
}

/** A change of whole families. `to` must have no runs left: it is empty, or it is `removed`. */
export interface FamilyChange {
  readonly removed: RunFamily;
  readonly from: RunFamily;
  readonly to: RunFamily;
  readonly added: UnlistedRun | null;
}

interface NewRun {
  readonly record: RunRecord;
  readonly image: Uint8Array | null;
  /** Ids of the runs that it replaces. */
  readonly replaces: readonly number[];
}

/**
 * The runs of chain.db for its single writer. A commit adds one run of each family: `stageBatches` builds them, and files
 * are durable before the commit that names them; `insertStaged` lists them within its transaction. Runs of similar size
 * are merged, so that each entry is written a bounded number of times.
 */
export class RunStore implements RunLists {
  readonly #db: Database;
  readonly #dir: string;
  readonly #dropped: DroppedFiles;
  readonly #manifest: RunManifest;
  readonly #writer: RunManifestWriter;
  /** Runs of each family, the oldest first. */
  readonly #open = new Map<RunFamily, OpenRun[]>();
  #lists = new Map<RunFamily, readonly Run[]>();
  #version: number;
  #nextId: number;
  #staged: NewRun[] = [];
  #job: MergeJob | null = null;
  /** Whether the runs of the running merge were removed. */
  #jobRemoved = false;

  /** Removes files that the list does not name. Throws OperatorError if one that it names is missing or damaged. */
  constructor(db: Database, chainDir: string, clock: Clock) {
    this.#db = db;
    this.#dir = chainDir;
    this.#dropped = new DroppedFiles(clock);
    this.#manifest = new RunManifest(db);
    this.#writer = new RunManifestWriter(db);
    this.#version = this.#manifest.version;
    const folder = runFolder(chainDir);
    if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) syncDirectory(dirname(folder));
    const records = this.#manifest.all();
    this.#nextId = records.reduce((highest, { id }) => Math.max(highest, id), 0) + 1;
    const named = new Set(records.filter(({ inTable }) => !inTable).map(({ id, family }) => runFileName(id, family)));
    for (const name of readdirSync(folder)) if (OWN_NAME.test(name) && !named.has(name)) rmSync(join(folder, name));
    for (const family of RUN_FAMILIES) this.#open.set(family, []);
    try {
      for (const record of records)
        this.#open
          .get(record.family)!
          .push({ record, run: openRun(chainDir, record, this.#manifest, isPinned(record.family)) });
    } catch (error) {
      this.close();
      throw startProblem(error, chainDir);
    }
  }

  runsOf(family: RunFamily): readonly Run[] {
    let list = this.#lists.get(family);
    if (list === undefined) {
      list = this.#open
        .get(family)!
        .map(({ run }) => run)
        .reverse();
      this.#lists.set(family, list);
    }
    return list;
  }

  /** Removes the file of a run that will not be listed. */
  removeUnlisted({ family, id, run }: UnlistedRun): void {
    if (run.image === null) rmSync(this.#path(id, family), { force: true });
  }

  /** Opens the runs of a family once more, the youngest first. The caller closes them. */
  reopen(family: RunFamily): Run[] {
    return this.#open
      .get(family)!
      .map(({ record }) => openRun(this.#dir, record, this.#manifest, false))
      .reverse();
  }

  /** Whether so many runs wait to be merged that the next commit should wait. */
  get mergesBehind(): boolean {
    return RUN_FAMILIES.some((family) => this.#open.get(family)!.length > RUN_LIMIT);
  }

  counts(): RunCount[] {
    return RUN_FAMILIES.map((family) => {
      const open = this.#open.get(family)!;
      const bytes = open.reduce((sum, { record }) => sum + record.bytes, 0);
      return { family: familyTitle(family), runs: open.length, bytes };
    });
  }

  /** Builds the runs of the next commit. Those in files are durable when it returns. */
  stageBatches(batches: readonly RunBatch[]): void {
    try {
      for (const batch of batches) if (batch.count > 0) this.#staged.push(this.#build(batch));
      if (this.#staged.some(({ image }) => image === null)) syncDirectory(runFolder(this.#dir));
    } catch (error) {
      this.discardStaged();
      throw error;
    }
  }

  /** Reserves the id of a run that is built outside of a commit. */
  reserveId(): number {
    return this.#nextId++;
  }

  /** Stages runs that were built outside of a commit, with reserved ids, for the next transaction. */
  stageBuilt(runs: readonly { readonly family: RunFamily; readonly id: number; readonly run: BuiltRun }[]): void {
    for (const { family: sent, id, run } of runs) {
      // A run that another thread has built names a copy of its family.
      const family = RUN_FAMILIES.find(({ code }) => code === sent.code)!;
      const age = (this.#open.get(family)!.at(-1)?.record.age ?? 0) + 1;
      const { entries, bytes, image } = run;
      this.#staged.push({
        record: { id, family, age, entries, bytes, inTable: image !== null },
        image,
        replaces: [],
      });
    }
    try {
      if (this.#staged.some(({ image }) => image === null)) syncDirectory(runFolder(this.#dir));
    } catch (error) {
      this.discardStaged();
      throw error;
    }
  }

  /** Lists the staged runs, within the transaction of the commit. */
  insertStaged(): void {
    if (this.#staged.length === 0) return;
    for (const { record, image, replaces } of this.#staged) {
      for (const id of replaces) this.#writer.removeRun(id);
      this.#writer.insertRun(record, image);
    }
    this.#writer.setVersion(this.#version + 1);
  }

  /** Called when the staged runs are committed. */
  onCommitted(): void {
    // They are listed, so that an error below must not remove their files.
    const committed = this.#staged;
    this.#staged = [];
    if (committed.length > 0) this.#version++;
    for (const run of committed) this.#replaceRuns(run);
    this.#dropped.removeDue();
  }

  /**
   * Drops the staged runs after a failed commit, with their files. Those of a commit that may be written stay: the next
   * start removes them if it does not list them.
   */
  discardStaged({ mayBeCommitted }: { readonly mayBeCommitted: boolean } = { mayBeCommitted: false }): void {
    if (!mayBeCommitted) for (const staged of this.#staged) this.#removeFile(staged);
    this.#staged = [];
  }

  /** Returns the next merge that is due; null if none is due, or while another one runs. It ends with `finishMerge`. */
  beginMerge(): MergeJob | null {
    if (this.#job !== null) return null;
    for (const family of RUN_FAMILIES) {
      const open = this.#open.get(family)!;
      const count = dueMerge(open.map(({ record }) => record.bytes));
      if (count === 0) continue;
      const sources = open.slice(-count).map(({ record: { id, bytes, inTable } }) => ({
        id,
        bytes,
        image: inTable ? this.#manifest.image(id) : null,
      }));
      this.#job = { chainDir: this.#dir, family, id: this.#nextId++, sources, bottom: count === open.length };
      return this.#job;
    }
    return null;
  }

  /**
   * Replaces the merged runs by their result in a durable transaction, since the files of the former are removed later.
   */
  finishMerge(result: BuiltRun): void {
    const job = this.#job!;
    this.#job = null;
    if (this.#jobRemoved) {
      this.#jobRemoved = false;
      if (result.image === null) rmSync(this.#path(job.id, job.family), { force: true });
      return;
    }
    const { family, id, sources } = job;
    const last = this.#open.get(family)!.find(({ record }) => record.id === sources.at(-1)!.id)!;
    const { entries, bytes, image } = result;
    const merged: NewRun = {
      record: { id, family, age: last.record.age, entries, bytes, inTable: image !== null },
      image,
      replaces: sources.map((source) => source.id),
    };
    // Opened before it is listed: after a listed merge, another one of the same sources would list their entries twice.
    const run = this.#openMerged(merged);
    const write = () => {
      for (const replaced of merged.replaces) this.#writer.removeRun(replaced);
      this.#writer.insertRun(merged.record, image);
      this.#writer.setVersion(this.#version + 1);
    };
    const discard = (mayBeCommitted: boolean) => {
      run.close();
      if (!mayBeCommitted) this.#removeFile(merged);
    };
    durably(this.#db, () => transact(this.#db, write, discard));
    this.#version++;
    this.#replaceRuns(merged, run);
  }

  /** Opens the result of a merge. Removes its file where that fails, since the merge is done again. */
  #openMerged(merged: NewRun): Run {
    try {
      if (merged.image === null) syncDirectory(runFolder(this.#dir));
      return this.#openNew(merged);
    } catch (error) {
      this.#removeFile(merged);
      throw error;
    }
  }

  #removeFile({ record, image }: NewRun): void {
    if (image === null) rmSync(this.#path(record.id, record.family), { force: true });
  }

  /** Ends a merge that failed; its sources stay. */
  abandonMerge(): void {
    this.#job = null;
    this.#jobRemoved = false;
  }

  /**
   * Removes the runs of the family `removed`, moves those of `from` to `to`, and lists the run `added`, in one durable
   * transaction with `write`. No commit may be staged.
   */
  changeFamilies({ removed, from, to, added }: FamilyChange, write: () => void): void {
    assert(this.#staged.length === 0, 'no commit is staged');
    if (added?.run.image === null) syncDirectory(runFolder(this.#dir));
    const record = added && {
      id: added.id,
      family: added.family,
      age: 1,
      entries: added.run.entries,
      bytes: added.run.bytes,
      inTable: added.run.image !== null,
    };
    durably(this.#db, () =>
      this.#db
        .transaction(() => {
          for (const { record: old } of this.#open.get(removed)!) this.#writer.removeRun(old.id);
          this.#writer.moveRuns(from, to);
          if (record) this.#writer.insertRun(record, added.run.image);
          this.#writer.setVersion(this.#version + 1);
          write();
        })
        .immediate(),
    );
    this.#version++;
    this.#lists = new Map();
    for (const old of this.#open.get(removed)!) this.#drop(old);
    const moved = this.#open.get(from)!;
    this.#open.set(
      to,
      moved.map(({ record: old, run }) => ({ record: { ...old, family: to }, run })),
    );
    this.#open.set(from, []);
    if (this.#job?.family === removed) this.#jobRemoved = true;
    else if (this.#job?.family === from) this.#job = { ...this.#job, family: to };
    if (record) this.#replaceRuns({ record, image: added.run.image, replaces: [] });
  }

  /**
   * Removes all runs of families in a durable transaction, together with what `remove` removes. Must be called before the
   * first merge.
   */
  dropFamilies(families: readonly RunFamily[], remove: () => void): void {
    const dropped = families.flatMap((family) => this.#open.get(family)!);
    durably(this.#db, () =>
      this.#db
        .transaction(() => {
          for (const { record } of dropped) this.#writer.removeRun(record.id);
          this.#writer.setVersion(this.#version + 1);
          remove();
        })
        .immediate(),
    );
    this.#version++;
    for (const old of dropped) this.#drop(old);
    for (const family of families) {
      this.#open.set(family, []);
      this.#lists.delete(family);
    }
  }

  /** Closes the runs. Files that left the list are removed by the next start. */
  close(): void {
    this.#dropped.close();
    for (const list of this.#open.values()) for (const { run } of list) run.close();
    this.#open.clear();
  }

  /** Builds the run of a batch; merges it at once with younger runs if they are small. */
  #build(batch: RunBatch): NewRun {
    const { family } = batch;
    const open = this.#open.get(family)!;
    const age = (open.at(-1)?.record.age ?? 0) + 1;
    const id = this.#nextId++;
    const inTable = batch.bytes <= IMAGE_LIMIT;
    const { image, bytes, entries } = buildRun(
      family,
      id,
      inTable ? null : this.#path(id, family),
      batch.count,
      (builder) => batch.writeTo(builder),
    );
    const record = { id, family, age, entries, bytes, inTable };
    const count = image === null ? 0 : this.#dueInline(open, bytes);
    if (count === 0) return { record, image, replaces: [] };
    const sources = open.slice(-count).map((source) => ({
      id: source.record.id,
      bytes: source.record.bytes,
      image: this.#manifest.image(source.record.id),
    }));
    const bottom = count === open.length;
    const job = { chainDir: this.#dir, family, id, sources: [...sources, { id, bytes, image }], bottom };
    const merged = mergeRuns(job);
    return {
      record: { ...record, entries: merged.entries, bytes: merged.bytes },
      image: merged.image,
      replaces: sources.map((source) => source.id),
    };
  }

  /** Returns how many of the youngest runs are merged with a new one of `bytes`. */
  #dueInline(open: readonly OpenRun[], bytes: number): number {
    const busy = this.#job === null ? -1 : open.findIndex(({ record }) => record.id === this.#job!.sources.at(-1)!.id);
    const free = open.slice(busy + 1);
    const count = dueMerge([...free.map(({ record }) => record.bytes), bytes]) - 1;
    if (count < 1) return 0;
    const sources = free.slice(-count);
    const total = sources.reduce((sum, { record }) => sum + record.bytes, bytes);
    return total <= INLINE_LIMIT && sources.every(({ record }) => record.inTable) ? count : 0;
  }

  /** Puts a listed run in the place of those that it replaces. */
  #replaceRuns(added: NewRun, run: Run = this.#openNew(added)): void {
    const { record, replaces } = added;
    const { family } = record;
    const open = this.#open.get(family)!;
    const at = replaces.length === 0 ? open.length : open.findIndex((other) => other.record.id === replaces[0]);
    for (const old of open.splice(at, replaces.length, { record, run })) this.#drop(old);
    this.#lists.delete(family);
  }

  #openNew({ record, image }: NewRun): Run {
    const { id, family } = record;
    const source =
      image === null ? new FileSource(this.#path(id, family)) : new MemorySource(`${family.name} ${id}`, image);
    try {
      return new Run(family, source, isPinned(family), id);
    } catch (error) {
      source.close();
      throw error;
    }
  }

  #drop({ record, run }: OpenRun): void {
    run.close();
    if (!record.inTable) this.#dropped.addFile(this.#path(record.id, record.family));
  }

  #path(id: number, family: RunFamily): string {
    return join(runFolder(this.#dir), runFileName(id, family));
  }
}

/** Returns an error that says what to do if a listed run is missing or damaged; any other error unchanged. */
function startProblem(error: unknown, chainDir: string): unknown {
  const { code, path } = error as NodeJS.ErrnoException;
  const problem =
    error instanceof DecodeError
      ? error.message
      : code === 'ENOENT'
        ? `the database needs ${path}, which is missing`
        : null;
  return problem === null ? error : new OperatorError(`${problem}: ${syncAgainAdvice(chainDir)}`);
}

/** Validation looks up coins; the other families are written and rarely read by the writer. */
function isPinned(family: RunFamily): boolean {
  return family === COINS || family === BACKGROUND_COINS;
}
