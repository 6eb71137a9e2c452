import type { Database } from 'bun:sqlite';
import type { IndexJob, IndexJobResult, PositionRows } from '../indexes/index-job.ts';
import { addAddressRows, IndexRows } from '../indexes/index-rows.ts';
import type { StoredBlock } from '../indexes/job-block-reader.ts';
import { txPosition } from '../primitives/coin.ts';
import { transact } from '../storage/database.ts';
import {
  enabledTxIndexes,
  type IndexName,
  IndexStore,
  type IndexSwitches,
  IndexWriter,
  type TxIndexName,
} from '../storage/index-store.ts';
import type { RunBatch } from '../storage/runs/run-batch.ts';
import { HISTORY, SCRIPT_COINS, SPENDERS, TX_INDEX } from '../storage/runs/run-family.ts';
import type { RunStore } from '../storage/runs/run-store.ts';
import { ScriptKeys } from '../storage/script-store.ts';
import { spenderKeys } from '../storage/spender-store.ts';
import { TxWriter } from '../storage/tx-store.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { SealedChange } from './connect-block.ts';
import type { CommittedBlocks } from './filter-index.ts';
import { JOB_BLOCKS, nextEntries, staleEntries, storedBlock } from './job-blocks.ts';

const ALL_TX_INDEXES = enabledTxIndexes({ tx: true, address: true, spender: true });

/** Families of the runs of an index. */
const FAMILIES = {
  positions: [],
  tx: [TX_INDEX],
  address: [HISTORY, SCRIPT_COINS],
  spender: [SPENDERS],
} as const;

/** How far an index has come. */
export interface IndexProgress<N extends IndexName = IndexName> {
  readonly name: N;
  /** Height of the last block whose rows it has; -1 without any. */
  readonly height: number;
  /** Whether it covers the committed tip. */
  readonly live: boolean;
}

/** A job of the background build, with what it changes. */
export interface PlannedJob {
  readonly job: IndexJob;
  /** The block that the indexes of the job cover before it; null without any. */
  readonly from: ChainEntry | null;
  /** The block that they cover after it; null if all rows are removed. */
  readonly to: ChainEntry | null;
}

interface EnabledIndex {
  readonly name: TxIndexName;
  covered: ChainEntry | null;
}

export interface ChainIndexesOptions {
  /** Folder of the chain. */
  readonly dir: string;
  readonly switches: IndexSwitches;
  /** Whether the rows of indexes that are switched off are removed at the start. */
  readonly removeDisabled: boolean;
  readonly scriptSalt: Uint8Array;
  readonly segwitHeight: number;
}

/**
 * The indexes of transactions, which can be switched on and off. An index grows in the order of the chain. While it covers the committed tip
 * it is live: the rows of a new block are part of its commit. Otherwise jobs build its rows from block and undo files,
 * until it covers the tip: `nextJob` plans one, and `finishJob` commits its result. A job first removes the rows of blocks
 * that left the active chain. The block that an index covers is stored in the same transaction as its rows, and rows of
 * an index that is switched off stay as they are.
 */
export class ChainIndexes {
  readonly #db: Database;
  readonly #runs: RunStore;
  readonly #blocks: CommittedBlocks;
  readonly #options: ChainIndexesOptions;
  readonly #store: IndexStore;
  readonly #writer: IndexWriter;
  readonly #txWriter: TxWriter;
  readonly #scriptKeys: ScriptKeys;
  readonly #enabled: EnabledIndex[];
  /** Rows of a commit; their arrays are used again by the next one. */
  readonly #rows = new IndexRows();
  /** The committed tip; null before the first commit. */
  #tip: ChainEntry | null = null;
  #limit: () => ChainEntry | null = () => null;

  constructor(db: Database, runs: RunStore, blocks: CommittedBlocks, options: ChainIndexesOptions) {
    this.#db = db;
    this.#runs = runs;
    this.#blocks = blocks;
    this.#options = options;
    this.#store = new IndexStore(db);
    this.#writer = new IndexWriter(db);
    this.#txWriter = new TxWriter(db);
    this.#scriptKeys = new ScriptKeys(options.scriptSalt);
    this.#enabled = enabledTxIndexes(options.switches).map((name) => ({ name, covered: null }));
  }

  /** Reads how far the indexes have come. Must be called first. `tip` is null before the first commit. */
  open(tip: ChainEntry | null, findEntry: (hash: Uint8Array) => ChainEntry | null): void {
    this.#tip = tip;
    for (const index of this.#enabled) {
      const covered = this.#store.covered(index.name);
      index.covered = covered && findEntry(covered.hash);
    }
    if (this.#options.removeDisabled) this.#removeDisabled();
  }

  /** Whether the rows of the next block of an index are part of the commit of that block. */
  isLive(name: TxIndexName): boolean {
    return this.#live().some((index) => index.name === name);
  }

  /** Names of the live indexes. */
  get liveNames(): string {
    return this.#live()
      .map(({ name }) => name)
      .join();
  }

  /** Progress of the indexes that are switched on. */
  progress(): IndexProgress<TxIndexName>[] {
    return this.#enabled.map(({ name, covered }) => ({
      name,
      height: covered?.height ?? -1,
      live: covered === this.#tip,
    }));
  }

  /**
   * The lowest height of a block whose body and undo data the background build still has to read; null if it has to read
   * none. A block from this height on must not be pruned.
   */
  get neededFrom(): number | null {
    const tip = this.#tip;
    const heights = this.#lagging().map(({ covered }) => (covered && tip ? forkPoint(covered, tip).height + 1 : 0));
    return heights.length === 0 ? null : Math.min(...heights);
  }

  /** Makes the rows of the live indexes for a commit. Returns their batches, which are valid until `onCommitted`. */
  batches(chain: SealedChange): RunBatch[] {
    const live = new Set(this.#live().map(({ name }) => name));
    const rows = this.#rows;
    rows.clear();
    for (const entry of chain.disconnected) {
      if (live.size === 0) break;
      const block = this.#blocks.readBlock(entry);
      const { height } = entry;
      if (live.has('tx')) rows.addTxids(block.txids, height, true);
      if (live.has('spender')) rows.addSpends(spenderKeys(block, height), true);
      if (live.has('address') && chain.rows === null)
        addAddressRows(rows.address, block, this.#blocks.readUndo(entry), { height, removed: true });
    }
    for (const { entry, effects, spends } of chain.connected) {
      const { height } = entry;
      if (live.has('tx')) rows.addTxids(effects.txids, height, false);
      if (live.has('spender') && spends !== null) rows.addSpends(spends, false);
      // Blocks that were connected before the index had caught up come without their rows.
      const needsSpends = live.has('spender') && spends === null;
      const needsAddress = live.has('address') && chain.rows === null;
      if (!needsSpends && !needsAddress) continue;
      const block = this.#blocks.readBlock(entry);
      if (needsSpends) rows.addSpends(spenderKeys(block, height), false);
      if (needsAddress) addAddressRows(rows.address, block, effects.undo, { height, removed: false });
    }
    return rows.batches(this.#scriptKeys, (live.has('address') ? chain.rows : null) ?? rows.address);
  }

  /** Writes the other rows of the live indexes, within the transaction of the commit. */
  insertRows({ disconnected, connected, tip }: SealedChange): void {
    const live = this.#live();
    if (live.some(({ name }) => name === 'positions')) {
      const lowest = disconnected.at(-1);
      if (lowest !== undefined) this.#txWriter.removeFrom(lowest.height);
      for (const { entry, effects } of connected)
        for (let n = 0; n < effects.offsets.length; n++) {
          const txid = effects.txids.slice(n * 32, n * 32 + 32);
          const position = txPosition(entry.height, n);
          this.#txWriter.insertTx(position, txid, effects.offsets[n]!, effects.undoOffsets[n]!);
        }
      this.#txWriter.finish();
    }
    for (const { name } of live) this.#writer.setCovered(name, tip);
  }

  /** Called when the active chain has moved to the block of a loaded UTXO set, whose rows no index has. */
  moveTip(tip: ChainEntry): void {
    this.#tip = tip;
  }

  /** No rows are built beyond the block that `limit` returns; null is no limit. */
  setLimit(limit: () => ChainEntry | null): void {
    this.#limit = limit;
  }

  /** Called after the commit. */
  onCommitted(tip: ChainEntry): void {
    for (const index of this.#live()) index.covered = tip;
    this.#tip = tip;
  }

  /**
   * Plans the next job of the background build; null if all indexes are live, or if the next block lacks its body or its
   * undo data. Indexes that cover the same block are built together. `limit`: most blocks of the job.
   */
  nextJob(limit = JOB_BLOCKS): PlannedJob | null {
    const tip = this.#tip;
    const lagging = this.#lagging();
    if (tip === null || lagging.length === 0) return null;
    const stale = lagging.find(({ covered }) => covered !== null && tip.ancestor(covered.height) !== covered);
    if (stale !== undefined) return this.#plan(stale.covered, staleEntries(stale.covered!, tip, limit), true);
    const heightOf = ({ covered }: EnabledIndex) => covered?.height ?? -1;
    const from = lagging.reduce((low, index) => (heightOf(index) < heightOf(low) ? index : low)).covered;
    // The job ends where the next index that is further ahead can join it.
    const next = lagging.map(heightOf).filter((height) => height > (from?.height ?? -1));
    // Behind a loaded UTXO set, undo data beyond the validated chain lacks positions of transactions.
    const validated = this.#limit();
    const most = validated === null ? tip.height : forkPoint(validated, tip).height;
    const to = tip.ancestor(Math.min(most, ...next))!;
    const blocks = to.height <= (from?.height ?? -1) ? [] : nextEntries(from, to, limit);
    return blocks.length === 0 ? null : this.#plan(from, blocks, false);
  }

  /** Commits the result of a job, or drops it if the chain has moved in a way that makes it useless. */
  finishJob({ job, from, to }: PlannedJob, { runs, positions }: IndexJobResult): void {
    const built = this.#enabled.filter(({ name }) => job.indexes.includes(name));
    const tip = this.#tip!;
    this.#runs.stageBuilt(runs);
    const isCurrent = built.every(({ covered }) => covered === from);
    if (!isCurrent || (!job.removed && tip.ancestor(to!.height) !== to)) {
      this.#runs.discardStaged();
      return;
    }
    const write = () => {
      if (job.removed && job.indexes.includes('positions')) this.#txWriter.removeFrom(job.blocks.at(-1)!.height);
      if (positions !== null) this.#insertPositions(job.blocks, positions);
      this.#runs.insertStaged();
      for (const { name } of built)
        if (to === null) this.#writer.clearCovered(name);
        else this.#writer.setCovered(name, to);
    };
    transact(this.#db, write, (mayBeCommitted) => this.#runs.discardStaged({ mayBeCommitted }));
    this.#runs.onCommitted();
    for (const index of built) index.covered = to;
  }

  #removeDisabled(): void {
    const enabled = new Set(this.#enabled.map(({ name }) => name));
    const names = ALL_TX_INDEXES.filter((name) => !enabled.has(name) && this.#store.covered(name) !== null);
    if (names.length === 0) return;
    this.#runs.dropFamilies(
      names.flatMap((name) => FAMILIES[name]),
      () => {
        if (names.includes('positions')) this.#txWriter.removeAll();
        for (const name of names) this.#writer.clearCovered(name);
      },
    );
  }

  #live(): EnabledIndex[] {
    return this.#enabled.filter(({ covered }) => covered === this.#tip);
  }

  #lagging(): EnabledIndex[] {
    return this.#enabled.filter(({ covered }) => covered !== this.#tip);
  }

  #plan(from: ChainEntry | null, entries: readonly ChainEntry[], removed: boolean): PlannedJob {
    const indexes = this.#lagging()
      .filter(({ covered }) => covered === from)
      .map(({ name }) => name);
    const families = indexes.flatMap((name) => FAMILIES[name]);
    const last = entries.at(-1)!;
    return {
      job: {
        chainDir: this.#options.dir,
        indexes,
        removed,
        blocks: entries.map((entry) => storedBlock(entry, this.#options.segwitHeight)),
        scriptSalt: this.#options.scriptSalt,
        runIds: new Map(families.map(({ code }) => [code, this.#runs.reserveId()])),
      },
      from,
      to: removed ? last.parent : last,
    };
  }

  #insertPositions(blocks: readonly StoredBlock[], { counts, txids, offsets, undoOffsets }: PositionRows): void {
    let row = 0;
    for (const [i, { height }] of blocks.entries())
      for (let n = 0; n < counts[i]!; n++, row++) {
        const txid = txids.subarray(row * 32, row * 32 + 32);
        this.#txWriter.insertTx(txPosition(height, n), txid, offsets[row]!, undoOffsets[row]!);
      }
    this.#txWriter.finish();
  }
}
