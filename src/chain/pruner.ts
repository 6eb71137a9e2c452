import { downloadAgainAdvice } from '../storage/chain-folder.ts';
import type { PrunedKind } from '../storage/record-removal.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import type { ActiveChain } from './active-chain.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import type { HeaderTree } from './header-tree.ts';

/** Number of blocks up to the tip that are kept for a reorganization (Core's MIN_BLOCKS_TO_KEEP). */
const MIN_BLOCKS_TO_KEEP = 288;
/** Blocks that are kept below the lowest one that a lock names, for a reorganization (Core's PRUNE_LOCK_BUFFER). */
const LOCK_BUFFER = 10;
/** Growth of the files after which the target is checked again, and the room that is left for it, bytes. */
const GROWTH = 17 * 1024 * 1024;
/** Bounds of one round, which is one commit: files, and records of further files. */
const FILES_PER_ROUND = 16;
const RECORDS_PER_ROUND = 100_000;

/** Pruning of block and undo files. */
export interface PruneOptions {
  /** Size of block and undo files to keep below, bytes; null prunes on request only. */
  readonly target: number | null;
  /** Height of the tip below which nothing is pruned (Core's nPruneAfterHeight). */
  readonly afterHeight: number;
}

/**
 * Throws OperatorError where the storage has been pruned and may not be used so: pruning is off, or an index needs blocks
 * that have been pruned.
 */
export function checkPruning(
  { removal, filters, indexes, coinStats }: ChainStore,
  dir: string,
  enabled: boolean,
): void {
  const { pruneHeight } = removal;
  if (pruneHeight === null) return;
  const again = `${downloadAgainAdvice(dir)}; this downloads the whole chain again`;
  if (!enabled)
    throw new OperatorError(
      `You need to rebuild the database to go back to unpruned mode: blocks below height ${pruneHeight} have been pruned. Set storage.prune again (1 prunes no more by itself), or ${again}`,
      { isOfSettings: true },
    );
  // The positions are no index of their own: those that need them are behind as well.
  const behind: { name: string; height: number }[] = indexes
    .progress()
    .filter(({ name, live }) => !live && name !== 'positions');
  behind.push(...coinStats.progress().filter(({ live }) => !live));
  if (filters !== null && !filters.live) behind.push({ name: 'filter', height: filters.height });
  for (const { name, height } of behind)
    if (height + 1 < pruneHeight)
      throw new OperatorError(
        `index.${name} best block of the index goes beyond pruned data (including undo data): it ends at height ${height}, and blocks below height ${pruneHeight} have been pruned. Disable the index, or ${again}`,
        { isOfSettings: true },
      );
}

/** Returns the lowest block height that is still needed; null if none is. */
export type PruneLock = () => number | null;

interface RecordFile {
  readonly kind: PrunedKind;
  readonly file: number;
  /** Bytes up to the end of the last record. */
  bytes: number;
  highest: number;
  records: number;
}

export interface PrunerDeps {
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  readonly active: ActiveChain;
  readonly log: Log;
  /** Returns the entries whose bodies are stored but not committed yet. */
  uncommitted(): Iterable<ChainEntry>;
}

/**
 * Removes block and undo files whose blocks lie deep enough below the tip, as Core's pruning does; the indexes stay
 * whole. A file is removed as a whole. Undo data is written in the order in which blocks connect, so a file of undo
 * data does not belong to one file of blocks: each is removed by the heights of its own records.
 */
export class Pruner {
  readonly options: PruneOptions;
  readonly #deps: PrunerDeps;
  readonly #locks = new Map<string, PruneLock>();
  /** Total length of the written files when the target was checked last; -1 checks it with the next commit. */
  #checkedAt = -1;
  #started = false;

  constructor(options: PruneOptions, deps: PrunerDeps) {
    this.options = options;
    this.#deps = deps;
    const { filters, indexes, coinStats } = deps.store;
    if (filters) this.addLock('index.filter', () => filters.height);
    this.addLock('indexes', () => indexes.neededFrom);
    this.addLock('index.coinStats', () => coinStats.neededFrom);
  }

  /** Lowest height from which on all records of the active chain are stored; null if nothing has been pruned. */
  get pruneHeight(): number | null {
    return this.#deps.store.removal.pruneHeight;
  }

  /** Keeps the blocks from a height on. `lowest` is called before each pruning. */
  addLock(name: string, lowest: PruneLock): void {
    this.#locks.set(name, lowest);
  }

  /** Removes the files that an interrupted pruning has left. Must be called before blocks are stored. */
  removeUnreferenced(): void {
    if (this.pruneHeight === null) return;
    const { store, log } = this.#deps;
    const numbers = (kind: PrunedKind) => new Set(this.#filesOf(kind).keys());
    const removed =
      store.removal.removeUnreferenced('blk', store.blocksEnd.file, numbers('blk')) +
      store.removal.removeUnreferenced('rev', store.undoEnd.file, numbers('rev'));
    if (removed > 0) log.info('files that an interrupted pruning had left are removed', { files: removed });
  }

  /** From now on the target is kept. Locks are added before. */
  start(): void {
    this.#started = true;
  }

  /** Called after each commit: runs one round if the files have grown towards the target. */
  afterCommit(): void {
    const { target } = this.options;
    if (!this.#started || target === null) return;
    const { store } = this.#deps;
    const written = store.writtenBytes;
    if (this.#checkedAt >= 0 && written - this.#checkedAt < this.#growth / 2) return;
    if (!this.pruneToTarget()) this.#checkedAt = written;
  }

  /** Runs one round towards the target. Returns whether files were removed. */
  pruneToTarget(): boolean {
    const { target } = this.options;
    if (target === null) return false;
    const files = [...this.#filesOf('blk').values(), ...this.#filesOf('rev').values()];
    let excess = files.reduce((sum, { bytes }) => sum + bytes, this.#growth - target);
    return this.#removeFiles(this.#removable(files, this.#lastPrunable()), (file) => {
      if (excess <= 0) return false;
      excess -= file.bytes;
      return true;
    });
  }

  /** Runs one round for all files whose blocks are at most at a height. Returns whether files were removed. */
  pruneUpTo(height: number): boolean {
    const files = [...this.#filesOf('blk').values(), ...this.#filesOf('rev').values()];
    return this.#removeFiles(this.#removable(files, Math.min(height, this.#lastPrunable())), () => true);
  }

  /** Room for growth of the files until the next check, bytes. */
  get #growth(): number {
    return Math.min(GROWTH, this.#deps.store.fileLimit);
  }

  /** Returns the highest height that may be pruned; negative if the chain is too short. */
  #lastPrunable(): number {
    const { height } = this.#deps.active.committedTip;
    if (height < this.options.afterHeight) return -1;
    let last = height - MIN_BLOCKS_TO_KEEP;
    for (const [name, lowest] of this.#locks) {
      const needed = lowest();
      if (needed === null || needed - LOCK_BUFFER - 1 >= last) continue;
      last = needed - LOCK_BUFFER - 1;
      this.#deps.log.debug('pruning is limited by a lock', { lock: name, height: last });
    }
    return last;
  }

  /** Returns the files that may be removed, those with the lowest blocks first. */
  #removable(files: readonly RecordFile[], last: number): RecordFile[] {
    // The newest file of a kind that rows refer to stays, so that no number is used twice: readers keep files open.
    const end = { blk: 0, rev: 0 };
    for (const { kind, file } of files) end[kind] = Math.max(end[kind], file);
    // A body without a committed row stays too: its row will refer to it.
    for (const entry of this.#deps.uncommitted()) end.blk = Math.min(end.blk, entry.body.file);
    return files
      .filter(({ kind, file, highest }) => file < end[kind] && highest <= last)
      .sort((a, b) => a.highest - b.highest || a.file - b.file);
  }

  #removeFiles(files: readonly RecordFile[], isWanted: (file: RecordFile) => boolean): boolean {
    const { store, tree, log } = this.#deps;
    const chosen: RecordFile[] = [];
    let records = 0;
    for (const file of files) {
      if (chosen.length >= FILES_PER_ROUND || records >= RECORDS_PER_ROUND || !isWanted(file)) break;
      chosen.push(file);
      records += file.records;
    }
    if (chosen.length === 0) return false;
    const bodies = this.#entriesIn('blk', chosen);
    const undo = this.#entriesIn('rev', chosen);
    const idsIn = { blk: idsByFile(bodies), rev: idsByFile(undo) };
    const pruned = { bodies: bodies.map(({ entry }) => entry), undo: undo.map(({ entry }) => entry) };
    const pruneHeight = Math.max(this.pruneHeight ?? 0, this.#firstHeightAbove([...pruned.bodies, ...pruned.undo]));
    const steps = store.removal.removalSteps(
      chosen.map(({ kind, file }) => ({ kind, file, headerIds: idsIn[kind].get(file) ?? [] })),
      pruneHeight,
    );
    // The rows are committed by the first step: from then on nothing is read from the files.
    steps.next();
    tree.markPruned(pruned);
    try {
      for (const _ of steps);
    } catch (error) {
      // The chain does not need them any more, so it goes on.
      log.error('pruned files cannot be removed: the next start tries again', { error });
    }
    const bytes = chosen.reduce((sum, file) => sum + file.bytes, 0);
    log.info('block and undo files pruned', { files: chosen.length, bytes, pruneHeight });
    return true;
  }

  /** Returns the lowest height above all entries of the active chain; 0 without any. */
  #firstHeightAbove(entries: readonly ChainEntry[]): number {
    const tip = this.#deps.active.committedTip;
    let first = 0;
    for (const entry of entries)
      if (entry.height >= first && tip.ancestor(entry.height) === entry) first = entry.height + 1;
    return first;
  }

  /** Returns the files of a kind by their numbers. */
  #filesOf(kind: PrunedKind): Map<number, RecordFile> {
    const files = new Map<number, RecordFile>();
    this.#deps.tree.visitRecords(kind, ({ height }, file, end) => {
      let found = files.get(file);
      if (!found) files.set(file, (found = { kind, file, bytes: 0, highest: 0, records: 0 }));
      found.bytes = Math.max(found.bytes, end);
      found.highest = Math.max(found.highest, height);
      found.records++;
    });
    return files;
  }

  #entriesIn(kind: PrunedKind, files: readonly RecordFile[]): { entry: ChainEntry; file: number }[] {
    const numbers = new Set(files.flatMap((each) => (each.kind === kind ? [each.file] : [])));
    const found: { entry: ChainEntry; file: number }[] = [];
    this.#deps.tree.visitRecords(kind, (entry, file) => void (numbers.has(file) && found.push({ entry, file })));
    return found;
  }
}

function idsByFile(records: readonly { entry: ChainEntry; file: number }[]): Map<number, number[]> {
  const ids = new Map<number, number[]>();
  for (const { entry, file } of records) {
    const found = ids.get(file);
    if (found) found.push(entry.id);
    else ids.set(file, [entry.id]);
  }
  return ids;
}
