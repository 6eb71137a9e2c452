import { type ByteReader, type ByteWriter, DecodeError } from '../../util/bytes.ts';

/** Range and resolution of one horizon. */
export interface Horizon {
  /** Number of periods, of `scale` blocks each, over which confirmations are counted. */
  readonly periods: number;
  readonly scale: number;
  /** Factor applied to all averages at each block. */
  readonly decay: number;
  /** Average number of transactions per block that a range of feerates needs to be evaluated. */
  readonly sufficient: number;
}

/** A range of feerates (satoshis per 1,000 virtual bytes) with decayed transaction counts by outcome. */
export interface FeerateRange {
  readonly start: number;
  readonly end: number;
  readonly withinTarget: number;
  readonly totalConfirmed: number;
  readonly inMempool: number;
  readonly leftMempool: number;
}

export interface RangeEstimate {
  /** Null if no range of feerates reaches the success rate. */
  readonly feerate: number | null;
  /** The lowest range that reaches the success rate, and the highest range below it that does not. */
  readonly pass: FeerateRange | null;
  readonly fail: FeerateRange | null;
}

/**
 * Decaying averages, by feerate bucket, of the time to confirmation, with the ages of unconfirmed transactions: one
 * horizon of Core's block policy estimator (TxConfirmStats).
 */
export class ConfirmationStats {
  readonly horizon: Horizon;
  /** Upper bound of each bucket, ascending; the last one exceeds every feerate. */
  readonly #bounds: Float64Array;
  readonly #buckets: number;
  readonly #txAverage: Float64Array;
  readonly #feerateAverage: Float64Array;
  /**
   * Indexed by period, then bucket: transactions confirmed within that many periods, and transactions that left the
   * mempool unconfirmed after them.
   */
  readonly #confirmed: Float64Array;
  readonly #failed: Float64Array;
  /**
   * Unconfirmed transactions, indexed by entry height modulo `maxTarget`, then bucket; and by bucket those that are
   * older.
   */
  readonly #waiting: Int32Array;
  readonly #waitingLonger: Int32Array;

  constructor(bounds: Float64Array, horizon: Horizon) {
    this.horizon = horizon;
    this.#bounds = bounds;
    this.#buckets = bounds.length;
    this.#txAverage = new Float64Array(this.#buckets);
    this.#feerateAverage = new Float64Array(this.#buckets);
    this.#confirmed = new Float64Array(this.#buckets * horizon.periods);
    this.#failed = new Float64Array(this.#buckets * horizon.periods);
    this.#waiting = new Int32Array(this.#buckets * this.maxTarget);
    this.#waitingLonger = new Int32Array(this.#buckets);
  }

  /** The largest target that is tracked, in blocks. */
  get maxTarget(): number {
    return this.horizon.periods * this.horizon.scale;
  }

  /** Counts a transaction that entered the mempool at `height`. */
  addUnconfirmed(height: number, bucket: number): void {
    this.#waiting[(height % this.maxTarget) * this.#buckets + bucket]! += 1;
  }

  /** Removes a transaction from the unconfirmed counts. `best` is the height of the tip, 0 if unknown. */
  removeUnconfirmed(height: number, best: number, bucket: number, inBlock: boolean): void {
    const { scale, periods } = this.horizon;
    const age = best === 0 ? 0 : best - height;
    if (age < 0) return;
    const at = age >= this.maxTarget ? -1 : (height % this.maxTarget) * this.#buckets + bucket;
    if (at < 0) this.#waitingLonger[bucket] = Math.max(0, this.#waitingLonger[bucket]! - 1);
    else this.#waiting[at] = Math.max(0, this.#waiting[at]! - 1);
    if (inBlock) return;
    const failedPeriods = Math.min(Math.floor(age / scale), periods);
    for (let period = 0; period < failedPeriods; period++) this.#failed[period * this.#buckets + bucket]! += 1;
  }

  /** Begins a block: moves the oldest transactions to `#waitingLonger` and decays the averages. */
  startBlock(height: number): void {
    const { decay } = this.horizon;
    const at = (height % this.maxTarget) * this.#buckets;
    for (let bucket = 0; bucket < this.#buckets; bucket++) {
      this.#waitingLonger[bucket]! += this.#waiting[at + bucket]!;
      this.#waiting[at + bucket] = 0;
    }
    for (const averages of [this.#confirmed, this.#failed, this.#feerateAverage, this.#txAverage])
      for (let i = 0; i < averages.length; i++) averages[i]! *= decay;
  }

  /** Counts a transaction confirmed `blocks` blocks after it entered the mempool, at least 1. */
  recordConfirmed(blocks: number, feerate: number, bucket: number): void {
    const { periods, scale } = this.horizon;
    for (let period = Math.ceil(blocks / scale) - 1; period < periods; period++)
      this.#confirmed[period * this.#buckets + bucket]! += 1;
    this.#txAverage[bucket]! += 1;
    this.#feerateAverage[bucket]! += feerate;
  }

  /**
   * Scans the buckets from the highest feerate down and groups them into ranges with enough transactions. Returns the
   * average feerate in the bucket of the median transaction of the lowest range that is confirmed within the target at
   * `successRate`.
   */
  estimateMedian(target: number, successRate: number, height: number): RangeEstimate {
    const { scale, decay, sufficient } = this.horizon;
    const period = (Math.ceil(target / scale) - 1) * this.#buckets;
    const enough = sufficient / (1 - decay);
    const last = this.#buckets - 1;
    let range = emptyCounts();
    let near = last;
    let partial = 0;
    let fresh = true;
    let passing = true;
    let best: { near: number; far: number } | null = null;
    let pass: FeerateRange | null = null;
    let fail: FeerateRange | null = null;
    const waiting = this.#waitingSince(target, height);
    for (let bucket = last; bucket >= 0; bucket--) {
      if (fresh) near = bucket;
      fresh = false;
      range.withinTarget += this.#confirmed[period + bucket]!;
      range.totalConfirmed += this.#txAverage[bucket]!;
      range.leftMempool += this.#failed[period + bucket]!;
      range.inMempool += waiting[bucket]!;
      partial += this.#txAverage[bucket]!;
      if (partial < enough) continue;
      partial = 0;
      const rate = range.withinTarget / (range.totalConfirmed + range.leftMempool + range.inMempool);
      if (rate < successRate) {
        if (passing) fail = this.#range(bucket, near, range);
        passing = false;
        continue;
      }
      fail = null;
      passing = true;
      pass = this.#range(bucket, near, range);
      best = { near, far: bucket };
      range = emptyCounts();
      fresh = true;
    }
    // The remaining buckets have too few transactions to be evaluated.
    if (passing && !fresh) fail = this.#range(0, near, range);
    return { feerate: best && this.#medianFeerate(best.far, best.near), pass, fail };
  }

  write(w: ByteWriter): void {
    w.u32(this.#buckets);
    w.u32(this.horizon.periods);
    for (const averages of [this.#txAverage, this.#feerateAverage, this.#confirmed, this.#failed])
      w.bytes(new Uint8Array(averages.buffer, averages.byteOffset, averages.byteLength));
  }

  /** Throws DecodeError if the values are not valid averages of this horizon. */
  read(r: ByteReader): void {
    if (r.u32() !== this.#buckets || r.u32() !== this.horizon.periods)
      throw new DecodeError('the fee history has different buckets');
    for (const averages of [this.#txAverage, this.#feerateAverage, this.#confirmed, this.#failed]) {
      const bytes = r.bytes(averages.byteLength).slice();
      const values = new Float64Array(bytes.buffer);
      if (!values.every((value) => value >= 0 && value < Number.MAX_SAFE_INTEGER))
        throw new DecodeError('the fee history contains invalid averages');
      averages.set(values);
    }
  }

  /** Returns, by bucket, the number of transactions unconfirmed for at least `target` blocks. */
  #waitingSince(target: number, height: number): Float64Array {
    const sums = Float64Array.from(this.#waitingLonger);
    const bins = this.maxTarget;
    for (let blocks = target; blocks < bins; blocks++) {
      const at = ((((height - blocks) % bins) + bins) % bins) * this.#buckets;
      for (let bucket = 0; bucket < this.#buckets; bucket++) sums[bucket]! += this.#waiting[at + bucket]!;
    }
    return sums;
  }

  #range(low: number, high: number, counts: Counts): FeerateRange {
    return { start: low === 0 ? 0 : this.#bounds[low - 1]!, end: this.#bounds[high]!, ...counts };
  }

  #medianFeerate(low: number, high: number): number | null {
    let half = 0;
    for (let bucket = low; bucket <= high; bucket++) half += this.#txAverage[bucket]!;
    half /= 2;
    if (half === 0) return null;
    for (let bucket = low; bucket <= high; bucket++) {
      if (this.#txAverage[bucket]! >= half) return this.#feerateAverage[bucket]! / this.#txAverage[bucket]!;
      half -= this.#txAverage[bucket]!;
    }
    return null;
  }
}

interface Counts {
  withinTarget: number;
  totalConfirmed: number;
  inMempool: number;
  leftMempool: number;
}

function emptyCounts(): Counts {
  return { withinTarget: 0, totalConfirmed: 0, inMempool: 0, leftMempool: 0 };
}
