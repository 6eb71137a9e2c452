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
  type BlockOverlap,
  MEMPOOL_POLICY_TARGET,
  MempoolCoverage,
  type NextBlockFeerates,
  nextBlockFeerates,
} from './mempool-policy.ts';
import { PROJECTED_BLOCK_COUNT, type ProjectedBlock, projectBlocks } from './projected-blocks.ts';
import { decodeSavedFees, encodeSavedFees, type SavedFees } from './saved-fees.ts';

type EstimatorName = 'block_policy' | 'mempool_policy' | 'floor';

/** Parameters of an estimate, as for `estimatesmartfee`. */
export interface EstimateRequest {
  /** Blocks. */
  readonly target: number;
  readonly conservative: boolean;
  /** A single estimator, or `none` for the lowest result of all. */
  readonly estimator: 'none' | 'block_policy' | 'mempool_policy';
  /**
   * Report missing data as an error, as Core does, without falling back to another estimator or the minimum feerate.
   */
  readonly strict: boolean;
}

/** An estimate in satoshis per 1,000 virtual bytes, or the reason why there is none. */
export type Estimate =
  | {
      readonly feerate: number;
      readonly estimator: EstimatorName;
      readonly blocks: number;
      readonly warnings: readonly string[];
    }
  | { readonly feerate: null; readonly error: string; readonly blocks: number };

/** Periodic summary of feerates, for clients that subscribe to it. */
export interface FeeReport {
  /** Satoshis per 1,000 virtual bytes by target, non-increasing. */
  readonly rates: readonly { readonly target: number; readonly feerate: number; readonly estimator: EstimatorName }[];
  /** Minimum feerate to enter the mempool. */
  readonly floor: number;
  /** Unix seconds. */
  readonly at: number;
}

/** Result of `estimaterawfee` for one horizon that tracks the target. */
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
  /** Returns the minimum feerate to enter the mempool, satoshis per 1,000 virtual bytes. */
  floor(): number;
  /** Returns whether saved transactions have been imported and the chain is in sync. */
  ready(): boolean;
  /** Returns whether the tip is recent enough for confirmation times to be meaningful. */
  isCurrent(): boolean;
  /** Returns the current tip. */
  tip(): BlockPosition;
  /** Use the statistics of the previous run whatever their age. */
  readonly acceptStale?: boolean;
}

/** Hash in wire order. */
export interface BlockPosition {
  readonly height: number;
  readonly hash: Uint8Array;
}

const NO_ESTIMATE = 'Insufficient data or no feerate found';
const NO_DATA = 'insufficient data, minimum relay rate returned';
/** Targets of the periodic summary, in blocks. */
export const FEE_TARGETS: readonly number[] = [1, 2, 3, 6, 12, 24, 48, 144, 504, 1008];
/**
 * Maximum age of the projected blocks, milliseconds: for estimates as in Core, and for clients that read them. A new
 * block invalidates them at once.
 */
const PROJECTION_MS = 7000;
const READ_PROJECTION_MS = 900;
/** Maximum age of saved statistics, whole hours. */
const MAX_AGE_HOURS = 60;

/** The next blocks as they would be mined from the mempool. */
interface Projection {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly next: NextBlockFeerates;
  readonly blocks: readonly ProjectedBlock[];
}

/** Estimates fees from confirmation statistics and from the mempool, and saves the statistics across restarts. */
export class FeeEstimator {
  readonly #deps: FeeEstimatorDeps;
  readonly #history: BlockPolicyEstimator;
  readonly #coverage: MempoolCoverage;
  /** Hash of the last block in `#coverage`. */
  #lastBlock: Uint8Array | null = null;
  /** Transactions removed for the block that is being connected. */
  #included: { slot: number; feerate: number; weight: number }[] = [];
  #projection: Projection | null = null;

  constructor(deps: FeeEstimatorDeps) {
    this.#deps = deps;
    const saved = this.#load();
    this.#history = this.#restored(saved);
    // The saved coverage is valid only if no block was connected that this estimator did not see.
    const seen = saved?.tip && equalBytes(saved.tip, deps.tip().hash) ? saved : null;
    this.#coverage = new MempoolCoverage(seen?.mined);
    this.#lastBlock = seen?.tip ?? null;
  }

  /**
   * `height` is that of the tip when the transaction entered. `countable`: it has no unconfirmed parents, is not part
   * of a package and does not come from a disconnected block.
   */
  addTransaction(slot: number, fee: number, vsize: number, height: number, countable: boolean): void {
    const counts = countable && this.#deps.isCurrent();
    this.#history.addTransaction(slot, { height, feerate: Math.floor((fee * 1000) / vsize), countable: counts });
  }

  removeTransaction(slot: number): void {
    this.#history.removeTransaction(slot);
  }

  /** Records a transaction that left the mempool for the block that the next call of `block` reports. */
  recordIncluded(slot: number, fee: number, vsize: number, weight: number): void {
    this.#included.push({ slot, feerate: Math.floor((fee * 1000) / vsize), weight });
  }

  /** Processes a connected block. `weight` excludes the coinbase and is null during initial block download. */
  processBlock({ height, hash }: BlockPosition, weight: number | null): void {
    this.#history.processBlock(height, this.#included);
    const knownWeight = this.#included.reduce((sum, tx) => sum + tx.weight, 0);
    if (weight === null) this.#coverage.clear();
    else this.#coverage.add({ height, weight, knownWeight });
    this.#lastBlock = weight === null ? null : hash.slice();
    this.#included = [];
    this.#projection = null;
  }

  /**
   * Returns an estimate in whole satoshis per 1,000 virtual bytes, at least the minimum feerate to enter the mempool.
   */
  estimate(question: EstimateRequest): Estimate {
    const found = this.#estimate(question);
    // The floor applies last: the estimators are compared by their own results.
    return found.feerate === null ? found : { ...found, feerate: Math.max(found.feerate, this.#deps.floor()) };
  }

  #estimate({ target, conservative, estimator, strict }: EstimateRequest): Estimate {
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
      // The mempool's estimate is used only if the mempool is full enough, or if the history confirms that it usually
      // is.
      ...(mempool.estimate.feerate !== null && (mempool.full || history.feerate !== null) ? [mempool.estimate] : []),
    ];
    const best = found.sort((a, b) => a.feerate! - b.feerate!)[0];
    if (best) return best;
    return { feerate: this.#deps.floor(), estimator: 'floor', blocks: target, warnings: [NO_DATA] };
  }

  /** `threshold` is the fraction of transactions that must have been confirmed within the target. */
  rawEstimates(target: number, threshold: number): RawEstimate[] {
    return HORIZONS.flatMap((horizon) => {
      const found = this.#history.rawEstimate(target, threshold, horizon);
      return found ? [{ ...found, horizon, ...pickScale(this.#history.decayAndScale(horizon)) }] : [];
    });
  }

  get coverage(): readonly BlockOverlap[] {
    return this.#coverage.blocks;
  }

  /** Returns null during initial block download and until saved transactions have been imported. */
  report(): FeeReport | null {
    if (!this.#deps.ready()) return null;
    const rates = FEE_TARGETS.map((target) => {
      const found = this.estimate({ target, conservative: false, estimator: 'none', strict: false });
      return found.feerate === null
        ? { target, feerate: this.#deps.floor(), estimator: 'floor' as const }
        : { target, feerate: found.feerate, estimator: found.estimator };
    });
    // A longer target must not have a higher feerate.
    for (let i = rates.length - 2; i >= 0; i--)
      if (rates[i]!.feerate < rates[i + 1]!.feerate) rates[i] = { ...rates[i + 1]!, target: rates[i]!.target };
    return { rates, floor: this.#deps.floor(), at: unixSeconds(this.#deps.clock) };
  }

  /** Returns the next blocks, at most a second old; none until saved transactions have been imported. */
  projectedBlocks(): readonly ProjectedBlock[] {
    return this.#deps.ready() ? this.#projected(READ_PROJECTION_MS).blocks : [];
  }

  save(): void {
    const saved = { tip: this.#lastBlock, mined: this.#coverage.blocks, history: this.#history.serialize() };
    this.#deps.store.save(encodeSavedFees(saved), unixSeconds(this.#deps.clock));
  }

  /** The node stops, so the confirmation of tracked transactions will not be seen. */
  flushUnconfirmed(): void {
    this.#history.flushUnconfirmed();
  }

  #fromHistory(target: number, conservative: boolean): Estimate {
    const { feerate, blocks }: BlockPolicyEstimate = this.#history.estimate(target, conservative);
    if (feerate === null) return { feerate, error: NO_ESTIMATE, blocks };
    return { feerate, estimator: 'block_policy', blocks, warnings: [] };
  }

  /** `full`: the mempool fills enough of the next block for an estimate. */
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

  #projected(maxAgeMs = PROJECTION_MS): Projection {
    const now = this.#deps.clock.monotonicMs();
    if (this.#projection && now - this.#projection.at < maxAgeMs) return this.#projection;
    const chunks = [...bestChunks(this.#deps.graph, MAX_BLOCK_WEIGHT * PROJECTED_BLOCK_COUNT)];
    const counted = chunks.map(({ fee, size, slots }) => ({ fee, size, count: slots.length }));
    this.#projection = { at: now, next: nextBlockFeerates(chunks), blocks: projectBlocks(counted) };
    return this.#projection;
  }

  /** Returns the saved state, without the history if that is too old. Returns null if nothing usable is saved. */
  #load(): (Omit<SavedFees, 'history'> & { readonly history: Uint8Array | null }) | null {
    const { store, clock, log, acceptStale = false } = this.#deps;
    const stored = store.load();
    if (!stored) return null;
    const saved = this.#decodeOrNull(() => decodeSavedFees(stored.history));
    if (!saved || acceptStale || Math.floor((unixSeconds(clock) - stored.at) / 3600) <= MAX_AGE_HOURS) return saved;
    log.info('saved fee history ignored: too old', { savedAt: stored.at });
    return { ...saved, history: null };
  }

  #restored(saved: { readonly history: Uint8Array | null } | null): BlockPolicyEstimator {
    const history = saved?.history;
    return (history && this.#decodeOrNull(() => BlockPolicyEstimator.restore(history))) ?? new BlockPolicyEstimator();
  }

  #decodeOrNull<T>(decode: () => T): T | null {
    try {
      return decode();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.#deps.log.warn('saved fee history ignored: unreadable', { error });
      return null;
    }
  }
}

function pickScale({ decay, scale }: { decay: number; scale: number }) {
  return { decay, scale };
}
