import { MAX_BLOCK_WEIGHT } from '../../consensus/limits.ts';
import { compareFeerate, type FeeFrac } from '../cluster/feefrac.ts';
import { USABLE_WEIGHT } from './projected-blocks.ts';

/** What one block had in common with the mempool. Weights without the coinbase. */
export interface MinedBlock {
  readonly height: number;
  readonly weight: number;
  /** Of the transactions that were in the mempool. */
  readonly knownWeight: number;
}

/** Blocks that are looked at, and the part of their weight that must have been in the mempool. */
export const COVERAGE_WINDOW = 6;
const MIN_COVERAGE = 0.75;
/** Less than one full block in all of them says nothing of how well the mempool foretells. */
const MIN_WEIGHT = MAX_BLOCK_WEIGHT;

/** The target that a projection of the next block can speak for. */
export const MEMPOOL_POLICY_TARGET = 2;

/** Feerates in satoshis per 1,000 virtual bytes; null where the mempool is too small to fill so much of a block. */
export interface NextBlockFeerates {
  /** At half of the next block, and at three quarters. */
  readonly half: number | null;
  readonly threeQuarters: number | null;
}

/** Whether blocks hold what the mempool held: only then can it foretell them. As Core's mempool estimator. */
export class MempoolCoverage {
  #blocks: readonly MinedBlock[];

  /** Blocks that were seen before the last start: consecutive, at most as many as are looked at. */
  constructor(blocks: readonly MinedBlock[] = []) {
    this.#blocks = blocks;
  }

  get blocks(): readonly MinedBlock[] {
    return this.#blocks;
  }

  add(block: MinedBlock): void {
    const below = this.#blocks.filter(({ height }) => height < block.height);
    const follows = below.at(-1)?.height === block.height - 1;
    this.#blocks = [...(follows ? below : []), block].slice(-COVERAGE_WINDOW);
  }

  clear(): void {
    this.#blocks = [];
  }

  /** Null where the mempool can be relied on, else why not, in Core's words. */
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
 * What the next block would hold at its half and at three quarters. Chunks by weight, the best first. They are judged
 * by whole virtual bytes, as whoever pays counts them, so their order may change a little.
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
