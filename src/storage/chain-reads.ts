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
import { IndexStore } from './index-store.ts';
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

/** Snapshots that are begun until the files of one are all there. */
const SNAPSHOT_ATTEMPTS = 3;

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

  /** Returns the encoded block; null if its body is not stored. */
  rawBlock(block: HeaderRecord): Uint8Array | null {
    return block.body && this.#blocks.read(block.body);
  }

  /** Returns the encoding of a transaction of the active chain, and its block. */
  rawTx(record: TxRecord): { block: HeaderRecord; raw: Uint8Array } {
    const block = this.#blockOf(record);
    const end = this.txs.nextOffset(record.position) ?? block.body!.size;
    return { block, raw: this.#blocks.read(block.body!, record.offset, end - record.offset) };
  }

  /**
   * Returns a transaction of the active chain with its block and its spent coins in input order; no coins for a
   * coinbase.
   */
  transaction(record: TxRecord): { block: HeaderRecord; parsed: ParsedTransaction; spent: Coin[] } {
    const { block, raw } = this.rawTx(record);
    const parsed = parseTransaction(raw);
    return { block, parsed, spent: this.#spent(block, record, parsed.tx.inputs.length) };
  }

  /** Returns the undo data of a block, as records in input order; null if the block was never connected. */
  rawUndo(block: HeaderRecord): Uint8Array | null {
    return block.undo && openUndo(block.hash, this.#undo.read(block.undo));
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

  #spent(block: HeaderRecord, record: TxRecord, inputs: number): Coin[] {
    if (positionIndex(record.position) === 0) return [];
    // The undo records of the next transaction begin where these end.
    const next = this.txs.byPosition(record.position + 1);
    const end = next ? next.undoOffset : block.undo!.size - UNDO_CHECKSUM_SIZE;
    const bytes = this.#undo.read(block.undo!, record.undoOffset, end - record.undoOffset);
    return readTxUndo(new ByteReader(bytes), inputs);
  }

  #blockOf(record: TxRecord): HeaderRecord {
    const block = this.headers.byHeight(positionHeight(record.position));
    if (!block?.body) throw new Error(`no body for height ${positionHeight(record.position)}`);
    return block;
  }
}
