import type { Database } from 'bun:sqlite';
import { EMPTY_MUHASH, muhashDigest } from '../crypto/muhash.ts';
import type { CoinStatsJob, CoinStatsResult } from '../indexes/coin-stats-job.ts';
import { hashToHex } from '../primitives/hash.ts';
import { CoinStatsStore, CoinStatsWriter } from '../storage/coin-stats-store.ts';
import { IndexStore, IndexWriter } from '../storage/index-store.ts';
import { DecodeError, equalBytes } from '../util/bytes.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { IndexProgress } from './chain-indexes.ts';
import { nextEntries, staleEntries, storedBlock } from './job-blocks.ts';

/** Number of blocks behind the tip up to which a caller waits for the index. */
const CLOSE_BLOCKS = 20;

/** Blocks of a job: their changes pass through this thread, which takes milliseconds for this number. */
const JOB_BLOCKS = 500;

/** A job, with the entries of its blocks. */
export interface PlannedCoinStats {
  readonly job: CoinStatsJob;
  readonly entries: readonly ChainEntry[];
  /** The block that the index covers before the job; null without any. */
  readonly from: ChainEntry | null;
  /** The block that it covers after it. */
  readonly to: ChainEntry;
}

export interface CoinStatsIndexOptions {
  /** Folder of the chain. */
  readonly dir: string;
  readonly enabled: boolean;
  /** Whether the rows are removed at the start if the index is switched off. */
  readonly removeDisabled: boolean;
  readonly segwitHeight: number;
  readonly halvingInterval: number;
}

/**
 * The statistics of the UTXO set at each block (Core's coinstatsindex). A block takes a multiplication of 3,072 bits for
 * each spent and created output, which is far more than all other work of its commit. So the rows are never part of a
 * commit: jobs compute them on other threads, and the index follows the chain a moment behind its tip. `nextJob` plans a
 * job, and `finishJob` commits its rows together with the block that the index covers then. Rows of disconnected blocks
 * stay; a job takes their outputs out of the value of the MuHash.
 */
export class CoinStatsIndex {
  readonly #db: Database;
  readonly #options: CoinStatsIndexOptions;
  readonly #indexes: IndexStore;
  readonly #indexWriter: IndexWriter;
  readonly #store: CoinStatsStore;
  readonly #writer: CoinStatsWriter;
  /** The committed tip; null before the first commit. */
  #tip: ChainEntry | null = null;
  #covered: ChainEntry | null = null;
  #limit: () => ChainEntry | null = () => null;
  #failed = false;
  readonly #waiting = new Set<() => void>();

  constructor(db: Database, options: CoinStatsIndexOptions) {
    this.#db = db;
    this.#options = options;
    this.#indexes = new IndexStore(db);
    this.#indexWriter = new IndexWriter(db);
    this.#store = new CoinStatsStore(db);
    this.#writer = new CoinStatsWriter(db);
  }

  /** Reads how far the index has come. Must be called first. `tip` is null before the first commit. */
  open(tip: ChainEntry | null, findEntry: (hash: Uint8Array) => ChainEntry | null): void {
    const { enabled, removeDisabled } = this.#options;
    this.#tip = tip;
    const covered = this.#indexes.covered('coinStats');
    if (enabled) this.#covered = covered && findEntry(covered.hash);
    else if (removeDisabled && covered !== null) this.#removeAll();
  }

  /** Whether the index is switched on. */
  get enabled(): boolean {
    return this.#options.enabled;
  }

  /** Progress of the index, if it is switched on. */
  progress(): IndexProgress<'coinStats'>[] {
    const { height } = this;
    return this.enabled ? [{ name: 'coinStats', height, live: this.#covered === this.#tip }] : [];
  }

  /** Height of the last block with a row; -1 without any. */
  get height(): number {
    return this.#covered?.height ?? -1;
  }

  /** The lowest height of a block whose body and undo data the index still has to read; null if it has to read none. */
  get neededFrom(): number | null {
    if (!this.enabled || this.#covered === this.#tip) return null;
    return this.#covered && this.#tip ? forkPoint(this.#covered, this.#tip).height + 1 : 0;
  }

  /** No rows are computed beyond the block that `limit` returns; null is no limit. */
  setLimit(limit: () => ChainEntry | null): void {
    this.#limit = limit;
  }

  /** Called after a commit, and when the active chain has moved to the block of a loaded UTXO set. */
  moveTip(tip: ChainEntry): void {
    this.#tip = tip;
  }

  /** Called when the build stops, and when it goes on. */
  setFailed(failed: boolean): void {
    this.#failed = failed;
    this.#notifyWaiting();
  }

  /**
   * Resolves when the index covers the present tip, or at once if it is not close to it. Resolves as well when the signal
   * aborts or the build stops.
   */
  async caughtUp(signal: AbortSignal): Promise<void> {
    const wanted = this.#tip?.height ?? -1;
    while (!this.#failed && !signal.aborted && this.#isClose && !this.#hasReached(wanted))
      await new Promise<void>((resolve) => {
        const end = () => {
          this.#waiting.delete(end);
          signal.removeEventListener('abort', end);
          resolve();
        };
        this.#waiting.add(end);
        signal.addEventListener('abort', end, { once: true });
      });
  }

  /**
   * Plans the next job; null if the index covers the tip, or if the next block lacks its body or its undo data. `limit`:
   * most blocks of the job. Throws DecodeError if the stored values contradict each other.
   */
  nextJob(limit = JOB_BLOCKS): PlannedCoinStats | null {
    const tip = this.#tip;
    const from = this.#covered;
    if (!this.enabled || tip === null || from === tip) return null;
    if (from !== null && tip.ancestor(from.height) !== from) {
      const entries = staleEntries(from, tip, limit);
      return this.#plan(entries, true, from, entries.at(-1)!.parent!);
    }
    // Behind a loaded UTXO set, undo data beyond the validated chain lacks positions of transactions.
    const validated = this.#limit();
    const to = validated === null ? tip : forkPoint(validated, tip);
    const entries = nextEntries(from, to, limit);
    return entries.length === 0 ? null : this.#plan(entries, false, from, entries.at(-1)!);
  }

  /** Commits the result of a job. Throws DecodeError if the stored values contradict each other. */
  finishJob({ job, entries, from, to }: PlannedCoinStats, { rows, value, digest }: CoinStatsResult): void {
    if (this.#covered !== from) return;
    if (job.removed && !equalBytes(digest, this.#store.get(to.id)?.muhash ?? new Uint8Array(0))) throw damagedAt(to);
    this.#db
      .transaction(() => {
        for (const [i, stats] of rows.entries()) this.#writer.insert(entries[i]!.id, stats);
        this.#writer.putValue(value);
        this.#indexWriter.setCovered('coinStats', to);
      })
      .immediate();
    this.#covered = to;
    this.#notifyWaiting();
  }

  /** Whether the tip is reached in a moment. */
  get #isClose(): boolean {
    // Behind a loaded UTXO set, the index waits for blocks that may not be known yet.
    const waits = this.#limit() !== null;
    return this.enabled && !waits && this.#tip !== null && this.#tip.height - this.height <= CLOSE_BLOCKS;
  }

  /** Whether the index covers the active chain up to a height, or up to the tip. */
  #hasReached(height: number): boolean {
    const covered = this.#covered;
    if (covered === this.#tip || covered === null) return covered === this.#tip;
    return covered.height >= height && this.#tip!.ancestor(covered.height) === covered;
  }

  #plan(entries: readonly ChainEntry[], removed: boolean, from: ChainEntry | null, to: ChainEntry): PlannedCoinStats {
    const { dir, segwitHeight, halvingInterval } = this.#options;
    const value = from === null ? EMPTY_MUHASH : this.#store.value();
    const before = from && this.#store.get(from.id);
    // Every later block would inherit the damage.
    if (from !== null && (before === null || !equalBytes(before.muhash, muhashDigest(value)))) throw damagedAt(from);
    return {
      job: {
        chainDir: dir,
        removed,
        blocks: entries.map((entry) => storedBlock(entry, segwitHeight)),
        halvingInterval,
        value,
        before: removed ? null : before,
      },
      entries,
      from,
      to,
    };
  }

  #notifyWaiting(): void {
    for (const end of [...this.#waiting]) end();
  }

  #removeAll(): void {
    this.#db
      .transaction(() => {
        this.#writer.removeAll();
        this.#indexWriter.clearCovered('coinStats');
      })
      .immediate();
  }
}

function damagedAt({ hash }: ChainEntry): DecodeError {
  return new DecodeError(`the statistics of the UTXO set at block ${hashToHex(hash)} are damaged`);
}
