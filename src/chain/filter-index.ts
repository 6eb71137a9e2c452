import type { Database } from 'bun:sqlite';
import { basicFilter, filterHash, filterHeader } from '../indexes/basic-filter.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { undoScripts } from '../primitives/undo.ts';
import { type FilterRecord, FilterStore, FilterWriter } from '../storage/filter-store.ts';
import { assert } from '../util/assert.ts';
import type { Clock } from '../util/clock.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { StagedBlock } from './connect-block.ts';

/** What `build` makes is written when it has come to so much, or after so long. */
const BUILD_BYTES = 4 * 1024 * 1024;
const BUILD_INTERVAL_MS = 500;

/** Blocks that were committed, or are about to be. */
export interface StoredBlocks {
  readBlock(entry: ChainEntry): ParsedBlock;
  readUndo(entry: ChainEntry): Uint8Array;
}

/**
 * The basic filters of the blocks of the chain (BIP-157, BIP-158). Once all blocks have theirs, that of a new block is
 * written in the commit of the block; what is missing before, `build` makes piece by piece. A filter belongs to a block,
 * not to a height, and stays when the block leaves the chain. None is written before that of the block's parent, so how
 * far the index has come is told by its rows alone.
 */
export class FilterIndex {
  /** Files of filters were gone when it was opened, so it begins anew. */
  readonly lost: boolean;
  readonly #db: Database;
  readonly #store: FilterStore;
  readonly #writer: FilterWriter;
  readonly #blocks: StoredBlocks;
  /** The committed tip; null before the first commit. */
  #tip: ChainEntry | null = null;
  /** Up to here there are filters, those that wait to be written included; null before the genesis block's. */
  #at: ChainEntry | null = null;
  /** The filter that was appended last, so that its header need not be read for the next one. */
  #last: { readonly entry: ChainEntry; readonly header: FilterRecord['header'] } | null = null;
  /** The commit that is being written brings the filters of its blocks. */
  #following = false;
  /** When filters began to wait for `build` to write them. */
  #waitingSince = 0;

  /** `dir` is the folder of the chain. */
  constructor(db: Database, dir: string, magic: number, blocks: StoredBlocks) {
    this.#db = db;
    this.#writer = new FilterWriter(db, dir, magic);
    this.lost = this.#writer.lost;
    this.#store = new FilterStore(db, dir);
    this.#blocks = blocks;
  }

  /** Finds out how far the index has come. Before anything else. */
  open(tip: ChainEntry | null): void {
    this.#tip = tip;
    this.#at = tip === null ? null : tip.ancestor(this.#store.coveredHeight(tip.height));
  }

  /** Whether every block of the committed chain has its filter. */
  get live(): boolean {
    return this.#at === this.#tip && this.#writer.pending === 0;
  }

  /** Height up to which there are filters; -1 before the first. */
  get height(): number {
    return this.#at?.height ?? -1;
  }

  /** Null where the block has none, and then none that builds on it has one. */
  findRecord(entry: ChainEntry): FilterRecord | null {
    return this.#store.get(entry.id);
  }

  /** The encoded filter. Throws where the files are damaged. */
  readFilter(record: FilterRecord): Uint8Array {
    return this.#store.bytes(record);
  }

  /** The filter of a block that is being connected, for its commit; null where that will not need it. */
  filterForCommit(entry: ChainEntry, block: ParsedBlock, undo: Uint8Array): Uint8Array | null {
    return this.live && !this.#store.has(entry.id) ? basicFilter(block, undoScripts(undo)) : null;
  }

  /** Makes the filters of blocks that are about to be committed durable, in their order. */
  stageFilters(connected: readonly StagedBlock[]): void {
    this.#following = this.live;
    if (this.#following)
      for (const { entry, effects, filter } of connected) {
        if (this.#store.has(entry.id)) continue;
        // Those that were connected before the index had come so far are made now.
        this.#appendFilter(entry, filter ?? basicFilter(this.#blocks.readBlock(entry), undoScripts(effects.undo)));
      }
    this.#writer.sync();
  }

  /** Inside the transaction of the commit. */
  insertStaged(): void {
    this.#writer.insert();
  }

  /** The commit is written. */
  onCommitted(tip: ChainEntry): void {
    this.#writer.clear();
    if (this.#following) this.#at = tip;
    this.#tip = tip;
  }

  /**
   * Goes on with what is missing for so many milliseconds, one block at least, and returns whether the index is live
   * now. Throws where a block cannot be read or filters cannot be written; those that waited to be written are dropped.
   */
  buildMissing(ms: number, clock: Clock): boolean {
    const until = clock.monotonicMs() + ms;
    try {
      for (;;) {
        if (this.#atTip()) return true;
        this.#buildNext(clock.monotonicMs());
        if (clock.monotonicMs() >= until) return this.#atTip();
      }
    } catch (error) {
      this.#writer.clear();
      this.open(this.#tip);
      throw error;
    }
  }

  close(): void {
    this.#writer.close();
    this.#store.close();
  }

  #atTip(): boolean {
    const { pending } = this.#writer;
    const at = this.#at && this.#tip && forkPoint(this.#at, this.#tip);
    if (pending > 0 && (at !== this.#at || at === this.#tip)) this.#commitBuilt();
    this.#at = at;
    return at === this.#tip;
  }

  #buildNext(nowMs: number): void {
    const entry = this.#tip!.ancestor(this.height + 1)!;
    if (!this.#store.has(entry.id)) {
      if (this.#writer.pending === 0) this.#waitingSince = nowMs;
      const spent = undoScripts(this.#blocks.readUndo(entry));
      this.#appendFilter(entry, basicFilter(this.#blocks.readBlock(entry), spent));
    }
    this.#at = entry;
    if (this.#writer.pendingBytes >= BUILD_BYTES || nowMs - this.#waitingSince >= BUILD_INTERVAL_MS)
      this.#commitBuilt();
  }

  #appendFilter(entry: ChainEntry, filter: Uint8Array): void {
    const hash = filterHash(filter);
    const header = filterHeader(hash, entry.parent && this.#headerOf(entry.parent));
    this.#writer.append(entry.id, filter, hash, header);
    this.#last = { entry, header };
  }

  #headerOf(entry: ChainEntry): FilterRecord['header'] {
    if (this.#last?.entry === entry) return this.#last.header;
    const record = this.#store.get(entry.id);
    assert(record !== null, 'a block has its filter before those that build on it');
    return record.header;
  }

  #commitBuilt(): void {
    if (this.#writer.pending === 0) return;
    this.#writer.sync();
    this.#db.transaction(() => this.#writer.insert())();
    this.#writer.clear();
  }
}
