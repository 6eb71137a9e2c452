import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { type ParsedTransaction, parseTransaction } from '../primitives/block.ts';
import { type Coin, positionHeight, positionIndex, type TxPosition } from '../primitives/coin.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { ByteReader, equalBytes } from '../util/bytes.ts';
import { RecordReader } from './block-files.ts';
import { CoinStore } from './coin-store.ts';
import { openReadOnly, readSnapshot } from './database.ts';
import { EventStore } from './event-store.ts';
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
import { type TxRecord, TxStore } from './tx-store.ts';
import { openUndo, UNDO_CHECKSUM_SIZE } from './undo-record.ts';

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
  /** The indexes that cover the tip of the current snapshot; null until they are needed. */
  #live: ReadonlySet<IndexName> | null = null;
  readonly spenders: SpenderStore;
  readonly #db: Database;
  readonly #runs: ReaderRuns;
  readonly #blocks: RecordReader;
  readonly #undo: RecordReader;

  /** `dir` is the folder of the chain, which holds chain.db and blocks/. */
  constructor(dir: string, options: { cacheMiB?: number } = {}) {
    this.dir = dir;
    this.#db = openReadOnly(join(dir, 'chain.db'), options.cacheMiB ?? READER_CACHE_MIB);
    this.headers = new HeaderStore(this.#db);
    this.#runs = new ReaderRuns(this.#db, dir);
    this.txs = new TxStore(this.#db, this.#runs);
    this.coins = new CoinStore(this.#runs);
    this.events = new EventStore(this.#db);
    this.meta = new MetaStore(this.#db);
    this.scripts = new ScriptStore(this.#runs, () => this.meta.scriptSalt());
    this.filters = new FilterStore(this.#db, dir);
    this.indexes = new IndexStore(this.#db);
    this.spenders = new SpenderStore(this.#runs, (position, outpoint) => this.#spends(position, outpoint));
    this.#blocks = new RecordReader(join(dir, 'blocks'), 'blk');
    this.#undo = new RecordReader(join(dir, 'blocks'), 'rev');
  }

  /** Runs `read` on one state of the database. `read` is synchronous; snapshots may nest. */
  snapshot<T>(read: () => T): T {
    if (this.#db.inTransaction) return read();
    for (let attempt = 1; ; attempt++)
      try {
        return readSnapshot(this.#db, () => {
          this.#runs.beginSnapshot();
          try {
            return read();
          } finally {
            this.#runs.endSnapshot();
            this.#live = null;
          }
        });
      } catch (error) {
        // Thrown before `read` was called: the snapshot was older than the files that it names.
        if (!(error instanceof RunFileMissing) || attempt === SNAPSHOT_ATTEMPTS) throw error;
      }
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
    const live = this.#live ?? this.indexes.live();
    if (this.#db.inTransaction) this.#live = live;
    return live.has(index);
  }

  /** Returns the encoded block; null if its body was never stored. Throws BlockPruned. */
  rawBlock(block: HeaderRecord): Uint8Array | null {
    return block.stats && this.#readBody(block);
  }

  /** Returns the encoding of a transaction of the active chain, and its block. Throws BlockPruned. */
  rawTx(record: TxRecord): { block: HeaderRecord; raw: Uint8Array } {
    const block = this.#blockOf(record);
    const end = this.txs.nextOffset(record.position) ?? block.stats!.size;
    return { block, raw: this.#readBody(block, record.offset, end - record.offset) };
  }

  /**
   * Returns a transaction of the active chain with its block and its spent coins in input order: no coins for a
   * coinbase, and null if the undo data has been pruned. Throws BlockPruned.
   */
  transaction(record: TxRecord): { block: HeaderRecord; parsed: ParsedTransaction; spent: Coin[] | null } {
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
    this.#blocks.close();
    this.#undo.close();
    this.filters.close();
    this.#runs.close();
    this.#db.close();
  }

  #spends(position: TxPosition, outpoint: Outpoint): boolean {
    const record = this.txs.byPosition(position);
    if (record === null) return false;
    const { tx } = parseTransaction(this.rawTx(record).raw);
    return tx.inputs.some(({ prevout }) => prevout.vout === outpoint.vout && equalBytes(prevout.txid, outpoint.txid));
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

  #spent(block: HeaderRecord, record: TxRecord, inputs: number): Coin[] | null {
    if (positionIndex(record.position) === 0) return [];
    if (block.undo === null) return null;
    // The undo records of the next transaction begin where these end.
    const next = this.txs.byPosition(record.position + 1);
    const end = next ? next.undoOffset : block.undo.size - UNDO_CHECKSUM_SIZE;
    const bytes = this.#readUndo(block, record.undoOffset, end - record.undoOffset);
    return bytes && readTxUndo(new ByteReader(bytes), inputs);
  }

  #blockOf(record: TxRecord): HeaderRecord {
    const block = this.headers.byHeight(positionHeight(record.position));
    if (!block?.stats) throw new Error(`no body for height ${positionHeight(record.position)}`);
    return block;
  }
}
