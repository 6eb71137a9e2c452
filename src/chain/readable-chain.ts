import type { NetworkParams } from '../params/network-params.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { RunCount } from '../storage/runs/run-store.ts';
import type { DurationTotals } from '../util/duration-counts.ts';
import type { BackgroundChain } from './background-chain.ts';
import type { CommitResult } from './chain-committer.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainIndexes } from './chain-indexes.ts';
import type { ChainParts } from './chain-parts.ts';
import type { ChainWarnings } from './chain-warnings.ts';
import type { CoinStatsIndex } from './coin-stats-index.ts';
import type { FilterIndex } from './filter-index.ts';
import { type ChainTip, chainTips } from './header-tree.ts';
import type { Pruner } from './pruner.ts';
import type { ChainTimings } from './stage-timings.ts';

/** The state of a chain as its own thread reads it between the calls of `Chain`. */
export class ReadableChain {
  readonly params: NetworkParams;
  /** Prunes block and undo files; null if pruning is off. */
  readonly pruner: Pruner | null;
  readonly #parts: ChainParts;

  constructor(parts: ChainParts) {
    this.params = parts.network;
    this.pruner = parts.pruner;
    this.#parts = parts;
  }

  /** The tip that readers see. */
  get tip(): ChainEntry {
    return this.#parts.active.committedTip;
  }

  /** Height of the last connected block, whose scripts may not be verified yet. */
  get height(): number {
    return this.#parts.active.tip.height;
  }

  /** The valid header with the most work; its body may be missing. */
  get bestHeader(): ChainEntry {
    return this.#parts.tree.bestHeader;
  }

  get initialSync(): boolean {
    return this.#parts.sync.active;
  }

  /** The safety warnings of validation, as of the last commit. */
  get warnings(): Pick<ChainWarnings, 'messages' | 'unknownRules' | 'invalidChain'> {
    return this.#parts.warnings;
  }

  get lastCommit(): CommitResult {
    return this.#parts.committer.last;
  }

  /** Total time of each stage, milliseconds. */
  get timings(): ChainTimings<number> {
    const { parse, check, connect, wait, commit } = this.durations();
    const ms = ({ seconds }: DurationTotals) => seconds * 1000;
    return { parse: ms(parse), check: ms(check), connect: ms(connect), wait: ms(wait), commit: ms(commit) };
  }

  /** Durations of each stage. A block may pass through a stage more than once, and a commit may hold many blocks. */
  durations(): ChainTimings<DurationTotals> {
    return this.#parts.timings.totals(this.#parts.committer.durations.totals());
  }

  /** Number of transactions in the committed chain. */
  get transactions(): number {
    return this.#parts.store.headers.totals(this.tip.height)?.txs ?? 0;
  }

  /** Memory of the coins cache, bytes. */
  get coinsCacheBytes(): number {
    return this.#parts.active.coins.bytes;
  }

  /** Number of transactions up to a validated block. */
  transactionsAt({ height }: ChainEntry): number {
    return this.#parts.store.headers.totals(height)?.txs ?? 0;
  }

  get connecting(): boolean {
    return this.#parts.queue.running;
  }

  /** Number of events in the log. */
  get eventRows(): number {
    return this.#parts.store.eventRows;
  }

  /** Number and bytes of the runs of the storage, by family. */
  get runCounts(): readonly RunCount[] {
    return this.#parts.store.runs.counts();
  }

  /** Number of the newest event in the log. */
  get lastSeq(): number {
    return this.#parts.store.lastSeq;
  }

  /** The reason why block processing stopped; null while it runs. */
  get stopped(): Error | null {
    return this.#parts.queue.stopped;
  }

  findEntry(hash: Uint8Array): ChainEntry | null {
    return this.#parts.tree.findEntry(hash);
  }

  /** The chain that is validated behind a loaded UTXO set; null without one. */
  get background(): BackgroundChain | null {
    return this.#parts.loaded.background;
  }

  /** The block filter index; null if it is switched off. */
  get filters(): FilterIndex | null {
    return this.#parts.store.filters;
  }

  /** The indexes of transactions. */
  get indexes(): ChainIndexes {
    return this.#parts.store.indexes;
  }

  get coinStats(): CoinStatsIndex {
    return this.#parts.store.coinStats;
  }

  /** Returns an unspent output of the chain, or null. Call it only within `whenSettled` or an observer of commits. */
  coin(outpoint: Outpoint): Coin | null {
    return this.#parts.active.coins.getCoin(outpoint);
  }

  /** Returns the encoded body of a block that has one. Throws DecodeError if it is damaged. */
  readRawBlock(entry: ChainEntry): Uint8Array {
    return this.#parts.store.readRawBlock(entry);
  }

  /** Returns the body of a block that has one. Throws DecodeError if it is damaged. */
  readBlock(entry: ChainEntry): ParsedBlock {
    return this.#parts.store.readBlock(entry);
  }

  /** Returns the tips of all branches, the highest first. */
  chainTips(): ChainTip[] {
    return chainTips(this.#parts.tree, this.tip);
  }
}
