import type { Database } from 'bun:sqlite';
import { basicFilter, filterHash, filterHeader } from '../indexes/basic-filter.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { undoScripts } from '../primitives/undo.ts';
import { type FilterRecord, FilterStore, FilterWriter } from '../storage/filter-store.ts';
import { assert } from '../util/assert.ts';
import type { Clock } from '../util/clock.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { StagedBlock } from './connect-block.ts';

/** `buildMissing` commits after this many bytes or this time. */
const BUILD_BYTES = 4 * 1024 * 1024;
const BUILD_INTERVAL_MS = 500;

/** Reads blocks that are committed or about to be. */
export interface CommittedBlocks {
  readBlock(entry: ChainEntry): ParsedBlock;
  readUndo(entry: ChainEntry): Uint8Array;
}

/**
 * The basic block filters of the chain (BIP-157, BIP-158). Once the index has caught up, the filter of a new block is
 * committed together with the block; `buildMissing` builds the others step by step. A filter belongs to a block hash,
 * not to a height, and stays when the block is disconnected. A filter is committed only after that of the parent block,
 * so the rows alone show how far the index has come.
 */
export class FilterIndex {
  /** Whether filter files were missing when the index was opened, so that it is built anew. */
  readonly lost: boolean;
  readonly #db: Database;
  readonly #store: FilterStore;
  readonly #writer: FilterWriter;
  readonly #blocks: CommittedBlocks;
  /** The committed tip; null before the first commit. */
  #tip: ChainEntry | null = null;
  /** Last block with a filter, committed or pending; null before the genesis block. */
  #at: ChainEntry | null = null;
  /** Header of the last appended filter, so that it need not be read for the next one. */
  #last: { readonly entry: ChainEntry; readonly header: FilterRecord['header'] } | null = null;
  /** Whether the running commit holds the filters of its blocks. */
  #following = false;
  #limit: () => ChainEntry | null = () => null;
  /** Monotonic time of the oldest filter that `buildMissing` has not committed, milliseconds. */
  #waitingSince = 0;

  /** Opens the index. `dir` is the folder of the chain. */
  constructor(db: Database, dir: string, magic: number, blocks: CommittedBlocks) {
    this.#db = db;
    this.#writer = new FilterWriter(db, dir, magic);
    this.lost = this.#writer.lost;
    this.#store = new FilterStore(db, dir);
    this.#blocks = blocks;
  }

  /** Reads how far the index has come. Must be called first. */
  open(tip: ChainEntry | null): void {
    this.#tip = tip;
    this.#at = tip === null ? null : tip.ancestor(this.#store.coveredHeight(tip.height));
  }

  /** Whether every block of the committed chain has its filter. */
  get live(): boolean {
    return this.#at === this.#tip && this.#writer.pending === 0;
  }

  /** Height of the last block with a filter; -1 without any. */
  get height(): number {
    return this.#at?.height ?? -1;
  }

  /** Returns the record of a block's filter; null if neither it nor its descendants have one. */
  findRecord(entry: ChainEntry): FilterRecord | null {
    return this.#store.get(entry.id);
  }

  /** Returns the encoded filter. Throws if the files are damaged. */
  readFilter(record: FilterRecord): Uint8Array {
    return this.#store.bytes(record);
  }

  /** Returns the filter of a block that is being connected, for its commit; null if the commit does not need it. */
  filterForCommit(entry: ChainEntry, block: ParsedBlock, undo: Uint8Array): Uint8Array | null {
    return this.live && !this.#store.has(entry.id) ? basicFilter(block, undoScripts(undo)) : null;
  }

  /** Appends the filters of blocks that are about to be committed, in their order, and syncs the files. */
  stageFilters(connected: readonly StagedBlock[]): void {
    this.#following = this.live;
    if (this.#following)
      for (const { entry, effects, filter } of connected) {
        if (this.#store.has(entry.id)) continue;
        // Blocks that were connected before the index caught up have no filter yet.
        this.#appendFilter(entry, filter ?? basicFilter(this.#blocks.readBlock(entry), undoScripts(effects.undo)));
      }
    this.#writer.sync();
  }

  /** Inserts the rows of staged filters, within the transaction of the commit. */
  insertStaged(): void {
    this.#writer.insert();
  }

  /** Called when the active chain has moved to the block of a loaded UTXO set. */
  moveTip(tip: ChainEntry): void {
    this.#tip = tip;
  }

  /** No filters are built beyond the block that `limit` returns; null is no limit. */
  setLimit(limit: () => ChainEntry | null): void {
    this.#limit = limit;
  }

  /** Whether the next filter needs a block that is not validated yet. */
  get waits(): boolean {
    const limit = this.#limit();
    return limit !== null && this.#tip !== null && this.height >= forkPoint(limit, this.#tip).height;
  }

  /** Called after the commit. */
  onCommitted(tip: ChainEntry): void {
    this.#writer.clear();
    if (this.#following) this.#at = tip;
    this.#tip = tip;
  }

  /**
   * Builds missing filters for `ms` milliseconds, but at least one. Returns whether the index has caught up. Throws if
   * a block cannot be read or filters cannot be written; pending filters are dropped then.
   */
  buildMissing(ms: number, clock: Clock): boolean {
    const until = clock.monotonicMs() + ms;
    try {
      for (;;) {
        if (this.#atTip()) return true;
        if (this.waits) return false;
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
    assert(record !== null, 'the parent block has a filter');
    return record.header;
  }

  #commitBuilt(): void {
    if (this.#writer.pending === 0) return;
    this.#writer.sync();
    this.#db.transaction(() => this.#writer.insert())();
    this.#writer.clear();
  }
}
