import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { type ParsedTransaction, parseTransaction } from '../primitives/block.ts';
import { type Coin, positionHeight, positionIndex } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { ByteReader } from '../util/bytes.ts';
import { RecordReader } from './block-files.ts';
import { CoinStatsStore } from './coin-stats-store.ts';
import { CoinStore } from './coin-store.ts';
import { openReadOnly } from './database.ts';
import { EventStore } from './event-store.ts';
import type { ExpectedRows } from './expected-rows.ts';
import { FilterStore } from './filter-store.ts';
import { type HeaderRecord, HeaderStore } from './header-store.ts';
import { type IndexName, IndexStore } from './index-store.ts';
import { MetaStore } from './meta-store.ts';
import type { Run } from './runs/run.ts';
import { COINS } from './runs/run-family.ts';
import { openRun, ReaderRuns, RunFileMissing } from './runs/run-lists.ts';
import { RunManifest } from './runs/run-manifest.ts';
import { ScriptStore } from './script-store.ts';
import { SpenderStore } from './spender-store.ts';
import { type StoredTx, TxStore } from './tx-store.ts';
import { openUndo, UNDO_CHECKSUM_SIZE } from './undo-record.ts';
import { WalIndex, type WalMark } from './wal-index.ts';

const READER_CACHE_MIB = 64;

/** Maximum number of snapshots that are begun until all files of one exist. */
const SNAPSHOT_ATTEMPTS = 3;

/** The body of a block was deleted by pruning. */
export class BlockPruned extends Error {
  override readonly name = 'BlockPruned';
  /** Lowest height from which on all blocks are stored. */
  readonly pruneHeight: number;

  constructor(pruneHeight: number) {
    super('Block not available (pruned data)');
    this.pruneHeight = pruneHeight;
  }
}

/** Facts of one state of the database that most replies need. They are read once after each commit. */
export interface ChainState {
  readonly tip: HeaderRecord;
  /** The tip as replies name it; the hash in display order. */
  readonly tipView: { readonly height: number; readonly hash: string };
  /** The indexes that cover the tip. */
  readonly live: ReadonlySet<IndexName>;
}

/** A commit was made after the facts of a state were read and before the snapshot of that state began. */
class StateChanged extends Error {
  override readonly name = 'StateChanged';
}

/** A number of SQLite that no state has. */
const NO_VERSION = -1;

interface ReadsOptions {
  readonly cacheMiB?: number;
  /** Whether many short replies are read, most of which find the state of the one before. */
  readonly isFrequent?: boolean;
}

/**
 * Read access to the chain on a read-only connection of its own. A reply is read inside one `snapshot`, so that all of
 * it belongs to one tip.
 */
export class ChainReads {
  /** Folder of the chain. */
  readonly dir: string;
  readonly headers: HeaderStore;
  readonly txs: TxStore;
  readonly coins: CoinStore;
  readonly scripts: ScriptStore;
  readonly events: EventStore;
  readonly meta: MetaStore;
  readonly filters: FilterStore;
  readonly indexes: IndexStore;
  readonly spenders: SpenderStore;
  readonly coinStats: CoinStatsStore;
  readonly #db: Database;
  readonly #runs: ReaderRuns;
  readonly #blocks: RecordReader;
  readonly #undo: RecordReader;
  readonly #begin;
  readonly #commit;
  readonly #dataVersion;
  /** The facts of the state whose number is `#stateVersion`; null if they have not been read. */
  #state: ChainState | null = null;
  #stateVersion = NO_VERSION;
  /** The number of the state of the current snapshot. */
  #snapshotVersion = NO_VERSION;
  /** Shows without a lock whether there was a commit; null where SQLite is asked instead. */
  readonly #index: WalIndex | null;
  /** The last commits of `#state` and of the current snapshot; null where they are not known. */
  #stateMark: WalMark | null = null;
  #snapshotMark: WalMark | null = null;

  /** `dir` is the folder of the chain, which holds chain.db and blocks/. */
  constructor(dir: string, { cacheMiB = READER_CACHE_MIB, isFrequent = false }: ReadsOptions = {}) {
    this.dir = dir;
    const database = join(dir, 'chain.db');
    this.#db = openReadOnly(database, cacheMiB);
    this.#index = isFrequent ? WalIndex.map(database) : null;
    this.headers = new HeaderStore(this.#db);
    this.#runs = new ReaderRuns(this.#db, dir);
    this.txs = new TxStore(this.#db, this.#runs);
    this.coins = new CoinStore(this.#runs);
    this.events = new EventStore(this.#db);
    this.meta = new MetaStore(this.#db);
    this.scripts = new ScriptStore(this.#runs, () => this.meta.scriptSalt());
    this.filters = new FilterStore(this.#db, dir);
    this.indexes = new IndexStore(this.#db);
    this.spenders = new SpenderStore(this.#runs);
    this.coinStats = new CoinStatsStore(this.#db);
    this.#blocks = new RecordReader(join(dir, 'blocks'), 'blk');
    this.#undo = new RecordReader(join(dir, 'blocks'), 'rev');
    this.#begin = this.#db.prepare<null, []>('BEGIN');
    this.#commit = this.#db.prepare<null, []>('COMMIT');
    // Changes with each commit of another connection.
    this.#dataVersion = this.#db.prepare<{ data_version: number }, []>('PRAGMA data_version');
  }

  /** Runs `read` on one state of the database. `read` is synchronous; snapshots may nest. */
  snapshot<T>(read: () => T): T {
    if (this.#db.inTransaction) return read();
    for (let attempt = 1; ; attempt++)
      try {
        this.#beginSnapshot(null);
        try {
          return read();
        } finally {
          this.#endSnapshot();
        }
      } catch (error) {
        // Thrown before `read` was called: the snapshot was older than the files that it names.
        if (!(error instanceof RunFileMissing) || attempt === SNAPSHOT_ATTEMPTS) throw error;
      }
  }

  /**
   * Runs `read` on the facts of the present state. The snapshot of that state begins with the first call of `open`, so a
   * reply that needs the facts alone reads nothing else. Calls `read` again if a commit comes before `open`.
   */
  snapshotWithState<T>(read: (state: ChainState, open: () => void) => T): T {
    const state = this.#state;
    if (state === null || this.#db.inTransaction || !this.#isPresent())
      return this.snapshot(() => read(this.state(), () => {}));
    const version = this.#stateVersion;
    let isOpen = false;
    try {
      return read(state, () => {
        if (isOpen) return;
        this.#beginSnapshot(version);
        isOpen = true;
      });
    } catch (error) {
      if (!(error instanceof StateChanged)) throw error;
    } finally {
      if (isOpen) this.#endSnapshot();
    }
    return this.snapshot(() => read(this.state(), () => {}));
  }

  /** Returns the facts of the current snapshot, or of the present state. The object stays the same until a commit. */
  state(): ChainState {
    if (!this.#db.inTransaction) {
      if (this.#state !== null && this.#isPresent()) return this.#state;
      return this.snapshot(() => this.state());
    }
    if (this.#state === null || this.#stateVersion !== this.#snapshotVersion) {
      const tip = this.tip();
      this.#state = { tip, tipView: { height: tip.height, hash: hashToHex(tip.hash) }, live: this.indexes.live() };
      this.#stateVersion = this.#snapshotVersion;
      this.#stateMark = this.#snapshotMark;
    }
    return this.#state;
  }

  /**
   * Opens the runs of the UTXO set of the snapshot, the youngest first, for a scan that goes on after the snapshot has
   * ended: runs never change, and an open file outlives its name. The caller closes them.
   */
  openCoinRuns(): Run[] {
    const manifest = new RunManifest(this.#db);
    const open: Run[] = [];
    try {
      for (const record of manifest.all())
        if (record.family === COINS) open.unshift(openRun(this.dir, record, manifest, false));
      return open;
    } catch (error) {
      for (const run of open) run.close();
      throw error;
    }
  }

  /** Returns the tip of the active chain, which is the genesis block from the first commit on. */
  tip(): HeaderRecord {
    const tip = this.headers.tip();
    if (!tip) throw new Error('the database holds no chain');
    return tip;
  }

  /** Lowest height from which on the active chain has all bodies and undo data; null if nothing has been pruned. */
  pruneHeight(): number | null {
    return this.meta.get('pruneHeight');
  }

  /** Whether an index has the rows of the whole active chain. Otherwise it must not be used. */
  isCovered(index: IndexName): boolean {
    return this.state().live.has(index);
  }

  /** Returns the encoded block; null if its body was never stored. Throws BlockPruned. */
  rawBlock(block: HeaderRecord): Uint8Array | null {
    return block.stats && this.#readBody(block);
  }

  /** Returns some bytes of an encoded block; null if its body was never stored. Throws BlockPruned. */
  rawBlockPart(block: HeaderRecord, from: number, length: number): Uint8Array | null {
    return block.stats && this.#readBody(block, from, length);
  }

  /** Returns the encoding of a transaction of the active chain, and its block. Throws BlockPruned. */
  rawTx(record: StoredTx): { block: HeaderRecord; raw: Uint8Array } {
    const block = this.#blockOf(record);
    return { block, raw: this.#readBody(block, record.offset, this.sizeOfTx(record, block)) };
  }

  /** Returns the size of a transaction of the active chain, bytes, without reading it. */
  sizeOfTx(record: StoredTx, block?: HeaderRecord): number {
    const end = this.txs.nextOffset(record.position) ?? (block ?? this.#blockOf(record)).stats!.size;
    return end - record.offset;
  }

  /** Announces rows that the answer will read. They are read one by one from this source, which has them at hand. */
  expectRows(_: ExpectedRows): void {}

  /** Returns the lowest height above 0 whose median time is `time` or later; the height of the tip without any. */
  firstHeightSince(time: number): number {
    // Median times never decrease.
    let [low, high] = [1, this.state().tip.height];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.headers.medianTime(middle) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Returns a transaction of the active chain with its block and its spent coins in input order: no coins for a
   * coinbase, and null if the undo data has been pruned. Throws BlockPruned.
   */
  transaction(record: StoredTx): { block: HeaderRecord; parsed: ParsedTransaction; spent: Coin[] | null } {
    const { block, raw } = this.rawTx(record);
    const parsed = parseTransaction(raw);
    return { block, parsed, spent: this.#spent(block, record, parsed.tx.inputs.length) };
  }

  /**
   * Returns the undo data of a block, as records in input order; null if the block was never connected, or if the data
   * has been pruned.
   */
  rawUndo(block: HeaderRecord): Uint8Array | null {
    const undo = this.#readUndo(block);
    return undo && openUndo(block.hash, undo);
  }

  close(): void {
    this.#index?.close();
    this.#blocks.close();
    this.#undo.close();
    this.filters.close();
    this.#runs.close();
    this.#db.close();
  }

  /** Begins a snapshot. Throws StateChanged if it is not of the state with the number `version`, if that is given. */
  #beginSnapshot(version: number | null): void {
    const mark = this.#index?.mark() ?? null;
    this.#begin.run();
    try {
      // The first read of the transaction, which determines its state.
      this.#snapshotVersion = this.#presentVersion();
      // After a commit in between, the state may be the one before it or after it.
      this.#snapshotMark = mark !== null && this.#index!.isAt(mark) ? mark : null;
      if (version !== null && this.#snapshotVersion !== version) throw new StateChanged();
      this.#runs.beginSnapshot(this.#snapshotVersion);
    } catch (error) {
      this.#commit.run();
      throw error;
    }
  }

  #endSnapshot(): void {
    this.#runs.endSnapshot();
    this.#commit.run();
  }

  /** Whether nothing was committed since the facts of the state were read. */
  #isPresent(): boolean {
    const index = this.#index;
    if (index === null) return this.#presentVersion() === this.#stateVersion;
    if (this.#stateMark !== null && index.isAt(this.#stateMark)) return true;
    const mark = index.mark();
    if (this.#presentVersion() !== this.#stateVersion) return false;
    // A checkpoint changes the header, and no state.
    if (index.isAt(mark)) this.#stateMark = mark;
    return true;
  }

  #presentVersion(): number {
    return this.#dataVersion.get()!.data_version;
  }

  /** Reads from a body that is or was stored. Throws BlockPruned. */
  #readBody(block: HeaderRecord, from?: number, length?: number): Uint8Array {
    try {
      if (block.body) return this.#blocks.read(block.body, from, length);
    } catch (error) {
      // The file may have been removed after this snapshot began.
      const { record, pruneHeight } = this.#committed(block);
      if (record?.body) throw error;
      throw new BlockPruned(pruneHeight);
    }
    throw new BlockPruned(this.pruneHeight() ?? 0);
  }

  /** Reads from the undo data of a block; returns null if they are not stored. */
  #readUndo(block: HeaderRecord, from?: number, length?: number): Uint8Array | null {
    try {
      return block.undo && this.#undo.read(block.undo, from, length);
    } catch (error) {
      if (this.#committed(block).record?.undo) throw error;
      return null;
    }
  }

  /** Reads the row of a block as it is now, on another connection: this one may hold an older snapshot. */
  #committed({ hash }: HeaderRecord): { record: HeaderRecord | null; pruneHeight: number } {
    const db = openReadOnly(join(this.dir, 'chain.db'), 1);
    try {
      return { record: new HeaderStore(db).byHash(hash), pruneHeight: new MetaStore(db).get('pruneHeight') ?? 0 };
    } finally {
      db.close();
    }
  }

  #spent(block: HeaderRecord, record: StoredTx, inputs: number): Coin[] | null {
    if (positionIndex(record.position) === 0) return [];
    if (block.undo === null) return null;
    // The undo records of the next transaction begin where these end.
    const next = this.txs.byPosition(record.position + 1);
    const end = next ? next.undoOffset : block.undo.size - UNDO_CHECKSUM_SIZE;
    const bytes = this.#readUndo(block, record.undoOffset, end - record.undoOffset);
    return bytes && readTxUndo(new ByteReader(bytes), inputs);
  }

  #blockOf(record: StoredTx): HeaderRecord {
    const block = this.headers.byHeight(positionHeight(record.position));
    if (!block?.stats) throw new Error(`no body for height ${positionHeight(record.position)}`);
    return block;
  }
}
