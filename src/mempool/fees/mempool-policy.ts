import { MAX_BLOCK_WEIGHT } from '../../consensus/limits.ts';
import { compareFeerate, type FeeFrac } from '../cluster/feefrac.ts';
import { USABLE_WEIGHT } from './projected-blocks.ts';

/** The overlap of one block with the mempool. Weights exclude the coinbase. */
export interface BlockOverlap {
  readonly height: number;
  readonly weight: number;
  /** Weight of the block's transactions that were in the mempool. */
  readonly knownWeight: number;
}

/** Number of recent blocks evaluated, and the fraction of their weight that must have been in the mempool. */
export const COVERAGE_WINDOW = 6;
const MIN_COVERAGE = 0.75;
/** If all evaluated blocks together weigh less than one full block, the fraction says nothing about the mempool. */
const MIN_WEIGHT = MAX_BLOCK_WEIGHT;

/** Target of an estimate that is based on the projected next block, in blocks. */
export const MEMPOOL_POLICY_TARGET = 2;

/** Feerates in satoshis per 1,000 virtual bytes; null if the mempool does not fill that fraction of a block. */
export interface NextBlockFeerates {
  /** Feerates at one half and at three quarters of the next block. */
  readonly half: number | null;
  readonly threeQuarters: number | null;
}

/**
 * Decides whether recent blocks consisted of mempool transactions, without which the mempool cannot predict the next
 * block. As Core's mempool estimator.
 */
export class MempoolCoverage {
  #blocks: readonly BlockOverlap[];

  /** `blocks` are consecutive blocks seen before the restart, at most COVERAGE_WINDOW. */
  constructor(blocks: readonly BlockOverlap[] = []) {
    this.#blocks = blocks;
  }

  get blocks(): readonly BlockOverlap[] {
    return this.#blocks;
  }

  add(block: BlockOverlap): void {
    const below = this.#blocks.filter(({ height }) => height < block.height);
    const follows = below.at(-1)?.height === block.height - 1;
    this.#blocks = [...(follows ? below : []), block].slice(-COVERAGE_WINDOW);
  }

  clear(): void {
    this.#blocks = [];
  }

  /** Returns null if the mempool is reliable, otherwise Core's error text. */
  problem(): string | null {
    if (this.#blocks.length < COVERAGE_WINDOW) return 'Not enough recent block data for fee rate estimation';
    const weight = this.#blocks.reduce((sum, block) => sum + block.weight, 0);
    const known = this.#blocks.reduce((sum, block) => sum + block.knownWeight, 0);
    return weight < MIN_WEIGHT || known / weight >= MIN_COVERAGE
      ? null
      : 'Mempool is unreliable for fee rate estimation';
  }
}

/**
 * Returns the feerates at one half and at three quarters of the next block. `chunks` have sizes in weight units,
 * highest feerate first. They are sorted again by whole virtual bytes, the unit in which fees are paid, which may
 * change their order slightly.
 */
export function nextBlockFeerates(chunks: readonly FeeFrac[]): NextBlockFeerates {
  const next: FeeFrac[] = [];
  let used = 0;
  for (const { fee, size } of chunks) {
    used += size;
    if (used > USABLE_WEIGHT) break;
    next.push({ fee, size: Math.ceil(size / 4) });
  }
  next.sort((a, b) => compareFeerate(b.fee, b.size, a.fee, a.size));
  let weight = 0;
  let half: number | null = null;
  for (const { fee, size } of next) {
    weight += size * 4;
    const feerate = Math.floor((fee * 1000) / size);
    if (half === null && weight >= MAX_BLOCK_WEIGHT / 2) half = feerate;
    if (weight >= (MAX_BLOCK_WEIGHT * 3) / 4) return { half, threeQuarters: feerate };
  }
  return { half, threeQuarters: null };
}
