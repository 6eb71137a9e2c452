import type { Database } from 'bun:sqlite';
import { syncDirectory } from '../util/sync-directory.ts';
import { type RecordKind, recordFileNumbers, recordFileRemoval } from './block-files.ts';
import { durably } from './database.ts';
import { HeaderWriter } from './header-store.ts';
import { MetaStore, MetaWriter } from './meta-store.ts';

/** Kinds of files that pruning removes. */
export type PrunedKind = Extract<RecordKind, 'blk' | 'rev'>;

/** A file to remove, and the ids of the headers whose records it holds. */
export interface RemovedFile {
  readonly kind: PrunedKind;
  readonly file: number;
  readonly headerIds: readonly number[];
}

/** Removes block and undo files, for the single writer of chain.db. */
export class RecordRemoval {
  readonly #db: Database;
  readonly #dir: string;
  readonly #headers: HeaderWriter;
  readonly #read: MetaStore;
  readonly #meta: MetaWriter;

  /** `dir` is the folder of the files. */
  constructor(db: Database, dir: string) {
    this.#db = db;
    this.#dir = dir;
    this.#headers = new HeaderWriter(db);
    this.#read = new MetaStore(db);
    this.#meta = new MetaWriter(db);
  }

  /** Lowest height from which on all records of the active chain are stored; null if nothing has been pruned. */
  get pruneHeight(): number | null {
    return this.#read.get('pruneHeight');
  }

  /**
   * Removes files, and yields after each step. The rows lose their positions first, in a commit that survives a power
   * failure: no row ever refers to a removed file. Files that are left after an interruption are removed by
   * `removeUnreferenced`.
   */
  *removalSteps(files: readonly RemovedFile[], pruneHeight: number): Generator<string, void> {
    durably(
      this.#db,
      this.#db.transaction(() => {
        for (const { kind, headerIds } of files)
          for (const id of headerIds)
            if (kind === 'blk') this.#headers.clearBody(id);
            else this.#headers.clearUndo(id);
        this.#meta.put('pruneHeight', pruneHeight);
      }),
    );
    yield 'rows committed';
    for (const { kind, file } of files) yield* recordFileRemoval(this.#dir, kind, file);
    syncDirectory(this.#dir);
    yield 'folder synced';
  }

  /** Removes the files of a kind below a number to which no row refers. Returns how many were removed. */
  removeUnreferenced(kind: PrunedKind, below: number, referenced: ReadonlySet<number>): number {
    const left = recordFileNumbers(this.#dir, kind).filter((file) => file < below && !referenced.has(file));
    for (const file of left) for (const _ of recordFileRemoval(this.#dir, kind, file));
    if (left.length > 0) syncDirectory(this.#dir);
    return left.length;
  }
}
