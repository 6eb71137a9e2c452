import { ByteReader, ByteWriter, DecodeError } from '../../util/bytes.ts';
import { ConfirmationStats, type Horizon, type RangeEstimate } from './confirmation-stats.ts';

/**
 * Satoshis per 1,000 virtual bytes: upper bound of the first bucket, and of the last bounded one. Each bound is SPACING
 * times the one before.
 */
const MIN_BUCKET = 100;
const MAX_BUCKET = 1e7;
const SPACING = 1.05;
/** Upper bound of the last bucket, above every feerate. */
const NO_BOUND = 1e99;

const SHORT: Horizon = { periods: 12, scale: 1, decay: 0.962, sufficient: 0.5 };
const MEDIUM: Horizon = { periods: 24, scale: 2, decay: 0.9952, sufficient: 0.1 };
const LONG: Horizon = { periods: 42, scale: 24, decay: 0.99931, sufficient: 0.1 };

/** Fractions of transactions that must be confirmed within half the target, the target, and twice the target. */
const HALF_RATE = 0.6;
const RATE = 0.85;
const DOUBLE_RATE = 0.95;
/** Blocks after which the statistics of the previous run are ignored (Core's OLDEST_ESTIMATE_HISTORY). */
const OLDEST_HISTORY = 6 * 1008;
const FORMAT = 1;

export type HorizonName = 'short' | 'medium' | 'long';
export const HORIZONS: readonly HorizonName[] = ['short', 'medium', 'long'];

/**
 * A feerate (satoshis per 1,000 virtual bytes) and the target it applies to, in blocks; null if there is too little
 * data.
 */
export interface BlockPolicyEstimate {
  readonly feerate: number | null;
  readonly blocks: number;
}

/**
 * Estimates fees from the time that transactions of each feerate took to be confirmed (Core's CBlockPolicyEstimator).
 * Transactions are identified by their mempool slots.
 */
export class BlockPolicyEstimator {
  readonly #bounds = bucketBounds();
  readonly #stats: Readonly<Record<HorizonName, ConfirmationStats>>;
  /** Height of the tip when the transaction of a slot entered the mempool, -1 if it is not tracked; and its bucket. */
  readonly #heights: number[] = [];
  readonly #bucketOf: number[] = [];
  #best = 0;
  /** Whether any transaction was ever tracked. */
  #added = false;
  #firstRecorded = 0;
  /** First and last height of the statistics that were restored from the previous run. */
  #historicalFirst = 0;
  #historicalBest = 0;

  constructor() {
    const stats = (horizon: Horizon) => new ConfirmationStats(this.#bounds, horizon);
    this.#stats = { short: stats(SHORT), medium: stats(MEDIUM), long: stats(LONG) };
  }

  /** Returns the largest target of a horizon, in blocks. */
  maxTarget(horizon: HorizonName): number {
    return this.#stats[horizon].maxTarget;
  }

  decayAndScale(horizon: HorizonName): Pick<Horizon, 'decay' | 'scale'> {
    return this.#stats[horizon].horizon;
  }

  /**
   * Starts to track a transaction. It is tracked only if it entered at the tip that this estimator knows, and if
   * `countable`: it has no unconfirmed parents, is not part of a package and does not come from a disconnected block.
   */
  addTransaction(
    slot: number,
    { height, feerate, countable }: { height: number; feerate: number; countable: boolean },
  ): void {
    this.#heights[slot] = -1;
    if (height !== this.#best || !countable) return;
    const bucket = this.#bucketAt(feerate);
    this.#heights[slot] = height;
    this.#added = true;
    this.#bucketOf[slot] = bucket;
    for (const name of HORIZONS) this.#stats[name].addUnconfirmed(height, bucket);
  }

  /** Stops tracking a transaction that left the mempool without being confirmed. */
  removeTransaction(slot: number): void {
    this.#removeTracked(slot, false);
  }

  /**
   * Processes a connected block and the mempool transactions it includes. Blocks at or below the best known height, as
   * in a reorganization, are ignored.
   */
  processBlock(height: number, included: readonly { readonly slot: number; readonly feerate: number }[]): void {
    if (height <= this.#best) {
      // They leave the mempool, but their confirmation time says nothing.
      for (const { slot } of included) this.#removeTracked(slot, true);
      return;
    }
    this.#best = height;
    // Before the first tracked transaction, as during initial block download, all averages are zero.
    if (this.#added) for (const name of HORIZONS) this.#stats[name].startBlock(height);
    let counted = 0;
    for (const { slot, feerate } of included) {
      const since = this.#heights[slot] ?? -1;
      if (!this.#removeTracked(slot, true) || height <= since) continue;
      const bucket = this.#bucketAt(feerate);
      for (const name of HORIZONS) this.#stats[name].recordConfirmed(height - since, feerate, bucket);
      counted++;
    }
    if (this.#firstRecorded === 0 && counted > 0) this.#firstRecorded = height;
  }

  /** Returns the feerate that confirms a transaction within `target` blocks. */
  estimate(target: number, conservative: boolean): BlockPolicyEstimate {
    const { long } = this.#stats;
    if (target < 1 || target > long.maxTarget) return { feerate: null, blocks: target };
    // Confirmation in the next block cannot be estimated, so the least target is 2.
    const blocks = Math.min(Math.max(target, 2), this.#maxUsable);
    if (blocks <= 1) return { feerate: null, blocks };
    let feerate = Math.max(
      this.#combined(Math.floor(blocks / 2), HALF_RATE, true),
      this.#combined(blocks, RATE, true),
      this.#combined(blocks * 2, DOUBLE_RATE, !conservative),
    );
    if (conservative || feerate < 0) feerate = Math.max(feerate, this.#conservative(blocks * 2));
    return { feerate: feerate < 0 ? null : Math.round(feerate), blocks };
  }

  /** Returns the estimate of one horizon with its feerate ranges, or null if the horizon does not track the target. */
  rawEstimate(target: number, successRate: number, horizon: HorizonName): RangeEstimate | null {
    const stats = this.#stats[horizon];
    if (target < 1 || target > stats.maxTarget) return null;
    return stats.estimateMedian(target, successRate, this.#best);
  }

  /** Counts all tracked transactions as unconfirmed, since the node stops and will not see their confirmation. */
  flushUnconfirmed(): void {
    for (let slot = 0; slot < this.#heights.length; slot++) this.#removeTracked(slot, false);
  }

  serialize(): Uint8Array {
    const w = new ByteWriter(64 * 1024);
    w.u32(FORMAT);
    w.u32(this.#best);
    const current = this.#blockSpan > this.#historicalSpan / 2;
    w.u32(current ? this.#firstRecorded : this.#historicalFirst);
    w.u32(current ? this.#best : this.#historicalBest);
    for (const name of HORIZONS) this.#stats[name].write(w);
    return w.finish().slice();
  }

  /** Restores an estimator from the bytes of `serialize`. Throws DecodeError if they are invalid. */
  static restore(bytes: Uint8Array): BlockPolicyEstimator {
    const r = new ByteReader(bytes);
    const estimator = new BlockPolicyEstimator();
    if (r.u32() !== FORMAT) throw new DecodeError('unknown format of the fee history');
    estimator.#best = r.u32();
    estimator.#historicalFirst = r.u32();
    estimator.#historicalBest = r.u32();
    if (estimator.#historicalFirst > estimator.#historicalBest || estimator.#historicalBest > estimator.#best)
      throw new DecodeError('the fee history has an invalid height range');
    for (const name of HORIZONS) estimator.#stats[name].read(r);
    estimator.#added = true;
    if (r.remaining > 0) throw new DecodeError('trailing bytes after the fee history');
    return estimator;
  }

  get #blockSpan(): number {
    return this.#firstRecorded === 0 ? 0 : this.#best - this.#firstRecorded;
  }

  get #historicalSpan(): number {
    if (this.#historicalFirst === 0 || this.#best - this.#historicalBest > OLDEST_HISTORY) return 0;
    return this.#historicalBest - this.#historicalFirst;
  }

  /** At most half of the recorded blocks, so that enough transactions had the time to miss the target. */
  get #maxUsable(): number {
    return Math.min(this.#stats.long.maxTarget, Math.floor(Math.max(this.#blockSpan, this.#historicalSpan) / 2));
  }

  /**
   * Returns the estimate of the shortest horizon that tracks the target, -1 if there is none. With `shorter`, a lower
   * estimate of a shorter horizon at its largest target replaces it.
   */
  #combined(target: number, successRate: number, shorter: boolean): number {
    const { short, medium, long } = this.#stats;
    if (target < 1 || target > long.maxTarget) return -1;
    const own = target <= short.maxTarget ? short : target <= medium.maxTarget ? medium : long;
    let estimate = own.estimateMedian(target, successRate, this.#best).feerate ?? -1;
    if (!shorter) return estimate;
    for (const stats of [medium, short]) {
      if (target <= stats.maxTarget) continue;
      const other = stats.estimateMedian(stats.maxTarget, successRate, this.#best).feerate ?? -1;
      if (other > 0 && (estimate === -1 || other < estimate)) estimate = other;
    }
    return estimate;
  }

  /** A conservative estimate must also reach the rate for twice the target on the longer horizons. */
  #conservative(doubleTarget: number): number {
    const { short, medium, long } = this.#stats;
    const of = (stats: ConfirmationStats) => stats.estimateMedian(doubleTarget, DOUBLE_RATE, this.#best).feerate ?? -1;
    return Math.max(
      doubleTarget <= short.maxTarget ? of(medium) : -1,
      doubleTarget <= medium.maxTarget ? of(long) : -1,
    );
  }

  #removeTracked(slot: number, inBlock: boolean): boolean {
    const height = this.#heights[slot] ?? -1;
    if (height < 0) return false;
    this.#heights[slot] = -1;
    for (const name of HORIZONS)
      this.#stats[name].removeUnconfirmed(height, this.#best, this.#bucketOf[slot]!, inBlock);
    return true;
  }

  /** Returns the first bucket whose upper bound is at least `feerate`. */
  #bucketAt(feerate: number): number {
    let low = 0;
    let high = this.#bounds.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#bounds[middle]! < feerate) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function bucketBounds(): Float64Array {
  const bounds: number[] = [];
  for (let bound = MIN_BUCKET; bound <= MAX_BUCKET; bound *= SPACING) bounds.push(bound);
  bounds.push(NO_BOUND);
  return Float64Array.from(bounds);
}
