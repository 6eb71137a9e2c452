import type { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isBlockMutated } from '../consensus/check-block-context.ts';
import { hash256 } from '../crypto/hash-functions.ts';
import { genesisBlock } from '../params/genesis.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type ParsedBlock, parseBlock } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import { HEADER_SIZE, headerBytes } from '../primitives/header.ts';
import {
  endOfFiles,
  FILE_LIMIT,
  type FilePosition,
  RECORD_HEADER,
  RecordReader,
  RecordWriter,
} from '../storage/block-files.ts';
import { openWriter } from '../storage/chain-database.ts';
import { syncAgainAdvice } from '../storage/chain-folder.ts';
import { HeaderStatus } from '../storage/chain-schema.ts';
import { CoinStore } from '../storage/coin-store.ts';
import { chainIdentityOf, closeDatabase } from '../storage/database.ts';
import type { EventMark } from '../storage/event-mark.ts';
import { EventWriter } from '../storage/event-store.ts';
import { type ChainTotals, HeaderStore, HeaderWriter } from '../storage/header-store.ts';
import type { IndexSwitches } from '../storage/index-store.ts';
import { MetaStore, MetaWriter } from '../storage/meta-store.ts';
import { RecordRemoval } from '../storage/record-removal.ts';
import { refuseUnfinishedReindex } from '../storage/reindex-folder.ts';
import { BackgroundMerges, type RunMerger } from '../storage/runs/background-merges.ts';
import type { RunsBuilder } from '../storage/runs/build-runs.ts';
import type { Run } from '../storage/runs/run.ts';
import { BACKGROUND_COINS, type RunFamily } from '../storage/runs/run-family.ts';
import { RunStore } from '../storage/runs/run-store.ts';
import type { SeqFloor } from '../storage/seq-floor.ts';
import { openUndo, sealUndo } from '../storage/undo-record.ts';
import { DecodeError, equalBytes } from '../util/bytes.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import type { ChainEntry } from './chain-entry.ts';
import { ChainIndexes } from './chain-indexes.ts';
import { CoinStatsIndex } from './coin-stats-index.ts';
import { CommitRows } from './commit-rows.ts';
import type { SealedChange } from './connect-block.ts';
import { FilterIndex } from './filter-index.ts';
import type { TreeChange } from './header-tree.ts';
import { LoadedSetWriter } from './loaded-set-writer.ts';

/** The changes of one commit. */
export interface CommitBatch {
  readonly tree: TreeChange;
  readonly chain: SealedChange;
  readonly bestHeaderHeight: number;
  /** Events in the order of their numbers, which `nextSeq` assigned. */
  readonly events: readonly { readonly seq: number; readonly type: string; readonly data: object }[];
}

export interface ChainStoreOptions {
  /** Page cache of the database. */
  readonly cacheMiB: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly mergeRuns: RunMerger;
  /** Builds the runs of large commits on another thread; by default within the commit. */
  readonly buildRuns?: RunsBuilder | undefined;
  /** Whether the program is to stop, which interrupts the conversion of an earlier database. */
  readonly isStopping?: (() => boolean) | undefined;
  /** Maintains the BIP-158 filter index; off by default. */
  readonly filters?: boolean | undefined;
  /** The other indexes. */
  readonly indexes: IndexSwitches;
  /** Removes the rows of indexes that are switched off. */
  readonly removeDisabledIndexes?: boolean | undefined;
  /** Reserves event numbers outside the database too; null reserves them in the database alone. */
  readonly seqFloor?: SeqFloor | null | undefined;
  /** Knows which numbers were given; without it every reserved one counts as given after a restart. */
  readonly eventMark?: EventMark | undefined;
  /**
   * Opens the storage of an unfinished reindex: block files have blocks that the database does not know yet, and are not
   * truncated.
   */
  readonly reindex?: boolean | undefined;
  /** Size limit of block and undo files, bytes. */
  readonly fileLimit?: number | undefined;
}

/** Least number of events that pruning leaves: more than two years of blocks. */
const EVENTS_KEPT = 120_000;

/** The writer of chain.db and of the block files; used by the chain alone. */
export class ChainStore {
  readonly coins: CoinStore;
  /** Coins of the chain that is validated behind a loaded UTXO set. */
  readonly backgroundCoins: CoinStore;
  readonly runs: RunStore;
  readonly merges: BackgroundMerges;
  readonly headers: HeaderStore;
  /** Null if the filter index is switched off. */
  readonly filters: FilterIndex | null;
  readonly indexes: ChainIndexes;
  readonly coinStats: CoinStatsIndex;
  /** Runs of commits. */
  readonly rows: CommitRows;
  /** Size limit of block and undo files, bytes. */
  readonly fileLimit: number;
  /** Removes block and undo files. */
  readonly removal: RecordRemoval;
  readonly loadedSet: LoadedSetWriter;
  readonly #db: Database;
  readonly #segwitHeight: number;
  readonly #blocks: RecordWriter;
  readonly #undo: RecordWriter;
  readonly #blockReader: RecordReader;
  readonly #undoReader: RecordReader;
  readonly #headerWriter: HeaderWriter;
  readonly #eventWriter: EventWriter;
  readonly #metaWriter: MetaWriter;
  #lastSeq: number;
  /** Whether bodies may still be in the writer's buffer. */
  #unread = false;

  /**
   * Opens or creates the storage. `dir` is the folder of the chain. Throws OperatorError on a database of another kind.
   */
  constructor(dir: string, params: NetworkParams, options: ChainStoreOptions) {
    const { cacheMiB, filters = false, seqFloor = null, clock, reindex = false, fileLimit = FILE_LIMIT } = options;
    this.fileLimit = fileLimit;
    const { magic, consensus } = params;
    this.#segwitHeight = consensus.segwitHeight;
    const identity = chainIdentityOf(params);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (!reindex) refuseUnfinishedReindex(dir);
    this.#db = openWriter(join(dir, 'chain.db'), identity, cacheMiB, options);
    this.runs = new RunStore(this.#db, dir, clock);
    this.merges = new BackgroundMerges(this.runs, options.mergeRuns, options.log);
    this.coins = new CoinStore(this.runs);
    this.headers = new HeaderStore(this.#db);
    const files = join(dir, 'blocks');
    const end = endOfFiles(files, 'blk');
    if (!reindex && this.headers.tip() === null) refuseUnknownBlocks(dir, end, genesisBlock(params).length);
    this.#blocks = new RecordWriter(files, 'blk', magic, reindex ? end : this.headers.fileEnd('body'), fileLimit);
    this.#undo = new RecordWriter(files, 'rev', magic, this.headers.fileEnd('undo'), fileLimit);
    this.removal = new RecordRemoval(this.#db, files);
    this.#blockReader = new RecordReader(files, 'blk');
    this.#undoReader = new RecordReader(files, 'rev');
    this.#headerWriter = new HeaderWriter(this.#db);
    this.loadedSet = new LoadedSetWriter({
      db: this.#db,
      runs: this.runs,
      merges: this.merges,
      headers: this.#headerWriter,
      appendUndo: (connected) => this.#appendUndo(connected, () => true).map((position) => position!),
    });
    this.backgroundCoins = new CoinStore(this.runs, BACKGROUND_COINS);
    this.#eventWriter = new EventWriter(this.#db, seqFloor, options.eventMark ?? null);
    this.#metaWriter = new MetaWriter(this.#db);
    this.#lastSeq = this.#eventWriter.last;
    this.indexes = new ChainIndexes(this.#db, this.runs, this, {
      dir,
      switches: options.indexes,
      removeDisabled: options.removeDisabledIndexes ?? false,
      scriptSalt: new MetaStore(this.#db).scriptSalt(),
      segwitHeight: consensus.segwitHeight,
    });
    this.coinStats = new CoinStatsIndex(this.#db, {
      dir,
      enabled: options.indexes.coinStats,
      removeDisabled: options.removeDisabledIndexes ?? false,
      segwitHeight: consensus.segwitHeight,
      halvingInterval: consensus.subsidyHalvingInterval,
    });
    this.rows = new CommitRows({
      dir,
      runs: this.runs,
      indexes: this.indexes,
      build: options.buildRuns ?? null,
      log: options.log,
    });
    this.filters = filters ? new FilterIndex(this.#db, dir, magic, this) : null;
  }

  /**
   * Reads how far the indexes have come, and starts the merges that are due. Must be called first. `tip` is null before
   * the first commit.
   */
  open(tip: ChainEntry | null, findEntry: (hash: Uint8Array) => ChainEntry | null): void {
    this.filters?.open(tip);
    this.indexes.open(tip, findEntry);
    this.coinStats.open(tip, findEntry);
    // The last run may have ended before merges that were due.
    this.merges.schedule();
  }

  /** Reserves the next event number; the event need not be stored. Must not be called within a commit. */
  nextSeq(): number {
    return this.#eventWriter.issueSeq();
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** Position at which the next body begins. */
  get blocksEnd(): { file: number; length: number } {
    return this.#blocks.end;
  }

  /** Position at which the next undo data begins. */
  get undoEnd(): { file: number; length: number } {
    return this.#undo.end;
  }

  /** A measure of the bytes that have been written to block and undo files, also to those that were removed. */
  get writtenBytes(): number {
    const { blocksEnd, undoEnd, fileLimit } = this;
    return (blocksEnd.file + undoEnd.file) * fileLimit + blocksEnd.length + undoEnd.length;
  }

  /** Height from which on segwit was active when the last blocks were stored; null in a database that does not say so. */
  get storedSegwitHeight(): number | null {
    return new MetaStore(this.#db).get('segwitHeight');
  }

  storeSegwitHeight(height: number): void {
    this.#metaWriter.put('segwitHeight', height);
  }

  appendBlock(raw: Uint8Array): FilePosition {
    this.#unread = true;
    return this.#blocks.append(raw);
  }

  /** Number of events in the log. */
  get eventRows(): number {
    return this.#eventWriter.rows;
  }

  /** Returns the encoded block after checking the hash of its header alone. Throws DecodeError on a mismatch. */
  readRawBlock(entry: ChainEntry): Uint8Array {
    const raw = this.#readBody(entry);
    if (!equalBytes(hash256(raw.subarray(0, HEADER_SIZE)), entry.hash)) throw damagedBlock(entry);
    return raw;
  }

  readBlock(entry: ChainEntry): ParsedBlock {
    const block = parseBlock(this.#readBody(entry));
    // Without this check a flipped bit on the disk would mark a valid block invalid for good.
    if (!equalBytes(block.hash, entry.hash) || isBlockMutated(block, entry.height >= this.#segwitHeight))
      throw damagedBlock(entry);
    return block;
  }

  /** Returns the undo data of a connected block. */
  readUndo(entry: ChainEntry): Uint8Array {
    return openUndo(entry.hash, this.#undoReader.read(entry.undo));
  }

  /** Moves all commits into the database file, so that no power failure can undo them. */
  checkpoint(): void {
    this.#db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /**
   * Commits a batch in one SQLite transaction. The block and undo files are synced first, since the rows refer to them.
   */
  commit(batch: CommitBatch): void {
    const { connected } = batch.chain;
    const undoPositions = this.#appendUndo(connected, ({ hasUndo }) => !hasUndo);
    this.filters?.stageFilters(connected);
    this.rows.stageRuns(batch.chain);
    let mayBeCommitted = false;
    this.#db.run('BEGIN IMMEDIATE');
    try {
      this.#writeHeaders(batch.tree);
      this.#writeChain(batch.chain, undoPositions);
      this.indexes.insertRows(batch.chain);
      this.runs.insertStaged();
      this.#metaWriter.put('bestHeaderHeight', batch.bestHeaderHeight);
      this.filters?.insertStaged();
      for (const { seq, type, data } of batch.events) this.#eventWriter.insertEvent(seq, type, data);
      if (batch.events.length > 0) this.#eventWriter.prune(EVENTS_KEPT);
      mayBeCommitted = true;
      this.#db.run('COMMIT');
      this.runs.onCommitted();
      this.#lastSeq = this.#eventWriter.last;
      this.filters?.onCommitted(batch.chain.tip);
      this.indexes.onCommitted(batch.chain.tip);
      this.coinStats.moveTip(batch.chain.tip);
    } catch (error) {
      if (this.#db.inTransaction) this.#db.run('ROLLBACK');
      this.runs.discardStaged({ mayBeCommitted });
      throw error;
    }
    this.merges.schedule();
  }

  /** Opens the runs of a family as they are now, the youngest first, for a long scan. The caller closes them. */
  openRuns(family: RunFamily): Run[] {
    return this.runs.reopen(family);
  }

  close(): void {
    this.merges.close();
    this.#blocks.close();
    this.#undo.close();
    this.filters?.close();
    this.#blockReader.close();
    this.#undoReader.close();
    this.runs.close();
    closeDatabase(this.#db);
  }

  /** Syncs the bodies, and appends undo data durably. Returns null for blocks whose undo data is not wanted. */
  #appendUndo(connected: SealedChange['connected'], isWanted: (entry: ChainEntry) => boolean): (FilePosition | null)[] {
    this.#blocks.sync();
    this.#unread = false;
    const positions = connected.map(({ entry, effects }) =>
      isWanted(entry) ? this.#undo.append(sealUndo(entry.hash, effects.undo)) : null,
    );
    this.#undo.sync();
    return positions;
  }

  #readBody(entry: ChainEntry): Uint8Array {
    if (this.#unread) this.#blocks.flush();
    this.#unread = false;
    return this.#blockReader.read(entry.body);
  }

  #writeHeaders({ headers, bodies, statuses }: TreeChange): void {
    for (const entry of headers)
      this.#headerWriter.insert({
        id: entry.id,
        hash: entry.hash,
        header: headerBytes(entry.header),
        height: entry.height,
        chainwork: entry.chainwork,
        status: entry.status,
      });
    for (const { entry, stats, receivedAt } of bodies)
      this.#headerWriter.setBody(entry.id, receivedAt, entry.body, stats);
    for (const entry of statuses) this.#headerWriter.setStatus(entry.id, entry.status);
  }

  #writeChain({ disconnected, connected }: SealedChange, undoPositions: readonly (FilePosition | null)[]): void {
    const lowest = disconnected.at(-1);
    if (lowest !== undefined) this.#headerWriter.cutAbove(lowest.height - 1);
    connected.forEach(({ entry, effects, circulating, utxos, txs }, i) => {
      const undoPosition = undoPositions[i];
      if (undoPosition) {
        entry.undo = undoPosition;
        entry.status |= HeaderStatus.HAVE_UNDO | HeaderStatus.HAD_UNDO;
        this.#headerWriter.setUndo(entry.id, undoPosition, effects.fees);
      }
      this.#headerWriter.extend(entry.height, entry.id, { circulating, utxos, txs } satisfies ChainTotals);
    });
  }
}

/**
 * Throws OperatorError if block files hold more than the genesis block, which a new database would overwrite: the
 * database was removed or replaced.
 */
function refuseUnknownBlocks(dir: string, end: { file: number; length: number }, genesisSize: number): void {
  if (end.file > 0 || end.length > RECORD_HEADER + genesisSize)
    throw new OperatorError(
      `${join(dir, 'blocks')} holds blocks, and ${join(dir, 'chain.db')} none: ${syncAgainAdvice(dir)}`,
    );
}

function damagedBlock({ hash, body }: ChainEntry): DecodeError {
  return new DecodeError(`block ${hashToHex(hash)} is damaged in blk file ${body.file}`);
}
