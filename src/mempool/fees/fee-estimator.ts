import { MAX_BLOCK_WEIGHT } from '../../consensus/limits.ts';
import type { FeeStore } from '../../storage/fee-store.ts';
import { DecodeError, equalBytes } from '../../util/bytes.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { bestChunks } from '../cluster/best-chunks.ts';
import type { TxGraph } from '../cluster/tx-graph.ts';
import { type BlockPolicyEstimate, BlockPolicyEstimator, HORIZONS, type HorizonName } from './block-policy.ts';
import type { RangeEstimate } from './confirmation-stats.ts';
import {
  MEMPOOL_POLICY_TARGET,
  MempoolCoverage,
  type MinedBlock,
  type NextBlockFeerates,
  nextBlockFeerates,
} from './mempool-policy.ts';
import { PROJECTED_BLOCKS, type ProjectedBlock, projectBlocks } from './projected-blocks.ts';
import { decodeSavedFees, encodeSavedFees, type SavedFees } from './saved-fees.ts';

export type EstimatorName = 'block_policy' | 'mempool_policy' | 'floor';

/** How an estimate is wanted. */
export interface EstimateQuestion {
  /** Blocks. */
  readonly target: number;
  readonly conservative: boolean;
  /** One estimator alone, or `none` for whichever asks for less. */
  readonly estimator: 'none' | 'block_policy' | 'mempool_policy';
  /** As Core: what lacks data is an error, and is not made up for by another estimator or by the least rate. */
  readonly strict: boolean;
}

/** An estimate, satoshis per 1,000 virtual bytes; or why there is none. */
export type Estimate =
  | {
      readonly feerate: number;
      readonly estimator: EstimatorName;
      readonly blocks: number;
      readonly warnings: readonly string[];
    }
  | { readonly feerate: null; readonly error: string; readonly blocks: number };

/** What is told of fees now and then, so that whoever shows it need not ask. */
export interface FeeReport {
  /** Satoshis per 1,000 virtual bytes by target, never rising. */
  readonly rates: readonly { readonly target: number; readonly feerate: number; readonly estimator: EstimatorName }[];
  /** Below, nothing enters. */
  readonly floor: number;
  readonly blocks: readonly ProjectedBlock[];
  /** Unix seconds. */
  readonly at: number;
}

/** All ranges of `estimaterawfee`, of the horizons that track the target. */
export interface RawEstimate extends RangeEstimate {
  readonly horizon: HorizonName;
  readonly decay: number;
  readonly scale: number;
}

export interface FeeEstimatorDeps {
  readonly graph: TxGraph;
  readonly store: FeeStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Satoshis per 1,000 virtual bytes below which nothing enters. */
  floor(): number;
  /** Saved transactions have been read back, and the chain is in sync. */
  ready(): boolean;
  /** The tip is recent enough that waiting times mean something. */
  isCurrent(): boolean;
  /** Of the chain at this moment; the hash in wire order. */
  tip(): BlockPosition;
  /** Take what was learnt before the last start however old it is. */
  readonly acceptStale?: boolean;
}

/** Hash in wire order. */
export interface BlockPosition {
  readonly height: number;
  readonly hash: Uint8Array;
}

const NO_ESTIMATE = 'Insufficient data or no feerate found';
const NO_DATA = 'insufficient data, minimum relay rate returned';
/** The targets that are told of without being asked for. */
export const FEE_TARGETS: readonly number[] = [1, 2, 3, 6, 12, 24, 48, 144, 504, 1008];
/** What the next block would hold is looked at again after so long, or after a block. */
const PROJECTION_MS = 7000;
/** Whole hours: what was learnt longer ago says nothing of now. */
const MAX_AGE_HOURS = 60;

/** What the mempool would fill blocks with. */
interface Projection {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly next: NextBlockFeerates;
  readonly blocks: readonly ProjectedBlock[];
}

/** Estimates fees from the history of confirmations and from what waits, and keeps the history over restarts. */
export class FeeEstimator {
  readonly #deps: FeeEstimatorDeps;
  readonly #history: BlockPolicyEstimator;
  readonly #coverage: MempoolCoverage;
  /** Hash of the last block that `#coverage` knows. */
  #lastBlock: Uint8Array | null = null;
  /** What the block that is being taken in has removed. */
  #included: { slot: number; feerate: number; weight: number }[] = [];
  #projection: Projection | null = null;

  constructor(deps: FeeEstimatorDeps) {
    this.#deps = deps;
    const saved = this.#load();
    this.#history = this.#restored(saved);
    // What blocks had in common with the mempool holds as long as none came that was not seen.
    const seen = saved?.tip && equalBytes(saved.tip, deps.tip().hash) ? saved : null;
    this.#coverage = new MempoolCoverage(seen?.mined);
    this.#lastBlock = seen?.tip ?? null;
  }

  /** Height of the tip when it came; `countable`: needs no other transaction, in no package, from no reorg. */
  added(slot: number, fee: number, vsize: number, height: number, countable: boolean): void {
    const counts = countable && this.#deps.isCurrent();
    this.#history.added(slot, { height, feerate: Math.floor((fee * 1000) / vsize), countable: counts });
  }

  removed(slot: number): void {
    this.#history.removed(slot);
  }

  /** It has left the mempool for the block that `block` will tell of. */
  included(slot: number, fee: number, vsize: number, weight: number): void {
    this.#included.push({ slot, feerate: Math.floor((fee * 1000) / vsize), weight });
  }

  /** A block has joined the chain; weight without the coinbase, null in initial sync. */
  block({ height, hash }: BlockPosition, weight: number | null): void {
    this.#history.block(height, this.#included);
    const knownWeight = this.#included.reduce((sum, tx) => sum + tx.weight, 0);
    if (weight === null) this.#coverage.clear();
    else this.#coverage.add({ height, weight, knownWeight });
    this.#lastBlock = weight === null ? null : hash.slice();
    this.#included = [];
    this.#projection = null;
  }

  /** Satoshis per 1,000 virtual bytes, whole; never less than enters the mempool now. */
  estimate(question: EstimateQuestion): Estimate {
    const found = this.#estimate(question);
    // Only now: which of two asks for less is told by what they say themselves.
    return found.feerate === null ? found : { ...found, feerate: Math.max(found.feerate, this.#deps.floor()) };
  }

  #estimate({ target, conservative, estimator, strict }: EstimateQuestion): Estimate {
    const exact = strict || estimator !== 'none';
    const history = this.#fromHistory(target, conservative);
    const mempool = this.#fromMempool(conservative);
    if (exact) {
      if (estimator === 'mempool_policy') return mempool.estimate;
      if (estimator === 'block_policy' || history.feerate === null || mempool.estimate.feerate === null)
        return history.feerate === null || estimator === 'block_policy' ? history : mempool.estimate;
      return history.feerate <= mempool.estimate.feerate ? history : mempool.estimate;
    }
    if (!this.#deps.ready()) return { feerate: null, error: NO_ESTIMATE, blocks: 0 };
    const found = [
      ...(history.feerate === null ? [] : [history]),
      // That a nearly empty mempool asks for nothing is news only where it has been otherwise.
      ...(mempool.estimate.feerate !== null && (mempool.full || history.feerate !== null) ? [mempool.estimate] : []),
    ];
    const best = found.sort((a, b) => a.feerate! - b.feerate!)[0];
    if (best) return best;
    return { feerate: this.#deps.floor(), estimator: 'floor', blocks: target, warnings: [NO_DATA] };
  }

  /** `threshold`: how often transactions must have been confirmed within the target. */
  raw(target: number, threshold: number): RawEstimate[] {
    return HORIZONS.flatMap((horizon) => {
      const found = this.#history.raw(target, threshold, horizon);
      return found ? [{ ...found, horizon, ...pickScale(this.#history.decayAndScale(horizon)) }] : [];
    });
  }

  get coverage(): readonly MinedBlock[] {
    return this.#coverage.blocks;
  }

  /** Null while it cannot be said: in initial sync, or before saved transactions are back. */
  report(): FeeReport | null {
    if (!this.#deps.ready()) return null;
    const rates = FEE_TARGETS.map((target) => {
      const found = this.estimate({ target, conservative: false, estimator: 'none', strict: false });
      return found.feerate === null
        ? { target, feerate: this.#deps.floor(), estimator: 'floor' as const }
        : { target, feerate: found.feerate, estimator: found.estimator };
    });
    // To be later is never dearer.
    for (let i = rates.length - 2; i >= 0; i--)
      if (rates[i]!.feerate < rates[i + 1]!.feerate) rates[i] = { ...rates[i + 1]!, target: rates[i]!.target };
    const { blocks } = this.#projected();
    return { rates, floor: this.#deps.floor(), blocks, at: unixSeconds(this.#deps.clock) };
  }

  save(): void {
    const saved = { tip: this.#lastBlock, mined: this.#coverage.blocks, history: this.#history.serialize() };
    this.#deps.store.save(encodeSavedFees(saved), unixSeconds(this.#deps.clock));
  }

  /** The node stops: what waits is not seen confirmed. */
  flush(): void {
    this.#history.flushUnconfirmed();
  }

  #fromHistory(target: number, conservative: boolean): Estimate {
    const { feerate, blocks }: BlockPolicyEstimate = this.#history.estimate(target, conservative);
    if (feerate === null) return { feerate, error: NO_ESTIMATE, blocks };
    return { feerate, estimator: 'block_policy', blocks, warnings: [] };
  }

  /** `full`: there is enough in the mempool to say what is asked. */
  #fromMempool(conservative: boolean): { estimate: Estimate; full: boolean } {
    const blocks = MEMPOOL_POLICY_TARGET;
    const problem = this.#deps.ready()
      ? this.#coverage.problem()
      : 'Mempool not loaded yet, no fee rate estimate available';
    if (problem) return { estimate: { feerate: null, error: `mempool_policy: ${problem}`, blocks }, full: false };
    const { half, threeQuarters } = this.#projected().next;
    const rate = conservative ? half : threeQuarters;
    const feerate = rate ?? this.#deps.floor();
    return { estimate: { feerate, estimator: 'mempool_policy', blocks, warnings: [] }, full: rate !== null };
  }

  #projected(): Projection {
    const now = this.#deps.clock.monotonicMs();
    if (this.#projection && now - this.#projection.at < PROJECTION_MS) return this.#projection;
    const chunks = [...bestChunks(this.#deps.graph, MAX_BLOCK_WEIGHT * PROJECTED_BLOCKS)];
    const counted = chunks.map(({ fee, size, slots }) => ({ fee, size, count: slots.length }));
    this.#projection = { at: now, next: nextBlockFeerates(chunks), blocks: projectBlocks(counted) };
    return this.#projection;
  }

  /** What was saved; the history is left out where it is too old. Null where there is nothing that can be used. */
  #load(): (Omit<SavedFees, 'history'> & { readonly history: Uint8Array | null }) | null {
    const { store, clock, log, acceptStale = false } = this.#deps;
    const stored = store.load();
    if (!stored) return null;
    const saved = this.#orAnew(() => decodeSavedFees(stored.history));
    if (!saved || acceptStale || Math.floor((unixSeconds(clock) - stored.at) / 3600) <= MAX_AGE_HOURS) return saved;
    log.info('the fee history is too old to be used', { savedAt: stored.at });
    return { ...saved, history: null };
  }

  #restored(saved: { readonly history: Uint8Array | null } | null): BlockPolicyEstimator {
    const history = saved?.history;
    return (history && this.#orAnew(() => BlockPolicyEstimator.restore(history))) ?? new BlockPolicyEstimator();
  }

  #orAnew<T>(decode: () => T): T | null {
    try {
      return decode();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#deps.log.warn('the fee history cannot be read and begins anew', { error });
      return null;
    }
  }
}

function pickScale({ decay, scale }: { decay: number; scale: number }) {
  return { decay, scale };
}
