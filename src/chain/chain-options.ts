import type { NetworkParams } from '../params/network-params.ts';
import type { FilePosition } from '../storage/block-files.ts';
import type { EventMark } from '../storage/event-mark.ts';
import type { IndexSwitches } from '../storage/index-store.ts';
import type { RunMerger } from '../storage/runs/background-merges.ts';
import type { RunsBuilder } from '../storage/runs/build-runs.ts';
import type { SeqFloor } from '../storage/seq-floor.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { PruneOptions } from './pruner.ts';
import type { ScriptVerifier } from './script-verifier.ts';

export interface ChainOptions {
  /** Folder of the chain; it holds nothing else. */
  readonly dir: string;
  readonly params: NetworkParams;
  /** Limit of the coins cache in memory. */
  readonly coinsCacheBytes: number;
  /** Page cache of the database. */
  readonly databaseCacheMiB: number;
  /** Maintains the BIP-158 filter index; off by default. */
  readonly filters?: boolean;
  /** The other indexes. */
  readonly indexes: IndexSwitches;
  /** Removes the rows of indexes that are switched off. */
  readonly removeDisabledIndexes?: boolean;
  /** Reserves event numbers outside the folder of the chain too. */
  readonly seqFloor?: SeqFloor;
  /** Knows which event numbers were given. */
  readonly eventMark?: EventMark;
  /** Prunes block and undo files; off by default, and during a reindex. */
  readonly prune?: PruneOptions | undefined;
  /** Age of the tip, seconds, below which the initial sync is over; Core's by default. */
  readonly maxTipAge?: number | undefined;
  /** Height at which no further block is connected; none by default. */
  readonly lastHeight?: number | undefined;
  /** Size limit of block and undo files, bytes; Core's by default. */
  readonly fileLimit?: number | undefined;
  /** Opens the storage of an unfinished reindex; its blocks come with `acceptStoredBlock`. */
  readonly reindex?: StoredGenesis | undefined;
}

/** Where the block files hold the genesis block; null where they do not. */
export interface StoredGenesis {
  readonly genesis: FilePosition | null;
}

export interface ChainDeps {
  readonly verifier: ScriptVerifier;
  readonly clock: Clock;
  readonly log: Log;
  /** Merges runs of the storage, by default in this thread. */
  readonly mergeRuns?: RunMerger;
  /** Builds the runs of large commits on another thread; by default within the commit. */
  readonly buildRuns?: RunsBuilder | undefined;
  /** Called with the exception that has stopped block processing. */
  readonly onStopped?: ((error: Error) => void) | undefined;
  /** Whether the program is to stop, which interrupts the conversion of an earlier database. */
  readonly isStopping?: (() => boolean) | undefined;
}
