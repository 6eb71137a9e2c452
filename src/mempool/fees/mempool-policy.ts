import { MAX_BLOCK_WEIGHT } from '../../consensus/limits.ts';
import type { FeeFrac } from '../cluster/feefrac.ts';

/** What one block had in common with the mempool. Weights without the coinbase. */
export interface MinedBlock {
  readonly height: number;
  readonly weight: number;
  /** Of the transactions that were in the mempool. */
  readonly knownWeight: number;
}

/** Blocks that are looked at, and the part of their weight that must have been in the mempool. */
const WINDOW = 6;
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
  #blocks: MinedBlock[] = [];

  get blocks(): readonly MinedBlock[] {
    return this.#blocks;
  }

  add(block: MinedBlock): void {
    this.#blocks = this.#blocks.filter(({ height }) => height < block.height);
    if (this.#blocks.length > 0 && this.#blocks.at(-1)!.height + 1 !== block.height) this.#blocks = [];
    this.#blocks = [...this.#blocks, block].slice(-WINDOW);
  }

  clear(): void {
    this.#blocks = [];
  }

  /** Null where the mempool can be relied on, else why not, in Core's words. */
  problem(): string | null {
    if (this.#blocks.length < WINDOW) return 'Not enough recent block data for fee rate estimation';
    const weight = this.#blocks.reduce((sum, block) => sum + block.weight, 0);
    const known = this.#blocks.reduce((sum, block) => sum + block.knownWeight, 0);
    return weight < MIN_WEIGHT || known / weight >= MIN_COVERAGE
      ? null
      : 'Mempool is unreliable for fee rate estimation';
  }
}

/** What the next block would hold at its half and at three quarters. Chunks by weight, the best first. */
export function nextBlockFeerates(chunks: readonly FeeFrac[]): NextBlockFeerates {
  let weight = 0;
  let half: number | null = null;
  for (const { fee, size } of chunks) {
    weight += size;
    const feerate = Math.floor((fee * 4000) / size);
    if (half === null && weight >= MAX_BLOCK_WEIGHT / 2) half = feerate;
    if (weight >= (MAX_BLOCK_WEIGHT * 3) / 4) return { half, threeQuarters: feerate };
  }
  return { half, threeQuarters: null };
}
