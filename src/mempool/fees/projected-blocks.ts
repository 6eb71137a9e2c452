import { MAX_BLOCK_WEIGHT } from '../../consensus/limits.ts';
import type { FeeFrac } from '../cluster/feefrac.ts';

/** A block as it would be mined from the mempool. Rates in sat/vB. */
export interface ProjectedBlock {
  readonly txCount: number;
  readonly vsize: number;
  /** Weight units of the transactions, adjusted for sigops. */
  readonly weight: number;
  /** Satoshis. */
  readonly totalFee: number;
  readonly medianFeeRate: number;
  /** Minimum, quartiles and maximum. */
  readonly feeRange: readonly number[];
}

/** Number of blocks projected; the remaining transactions are not assigned to a block. */
export const PROJECTED_BLOCK_COUNT = 8;
/** The weight that block assembly reserves for the header and the coinbase is not usable. */
export const USABLE_WEIGHT = MAX_BLOCK_WEIGHT - 8000;

export interface ProjectedChunk extends FeeFrac {
  /** Number of transactions. */
  readonly count: number;
}

/** Returns the next blocks. `chunks` have sizes in weight units, highest feerate first. */
export function projectBlocks(chunks: readonly ProjectedChunk[]): ProjectedBlock[] {
  const blocks: ProjectedBlock[] = [];
  let current: ProjectedChunk[] = [];
  let weight = 0;
  for (const chunk of chunks) {
    if (weight + chunk.size > USABLE_WEIGHT && current.length > 0) {
      blocks.push(projected(current, weight));
      if (blocks.length === PROJECTED_BLOCK_COUNT) return blocks;
      current = [];
      weight = 0;
    }
    current.push(chunk);
    weight += chunk.size;
  }
  if (current.length > 0) blocks.push(projected(current, weight));
  return blocks;
}

function projected(chunks: readonly ProjectedChunk[], weight: number): ProjectedBlock {
  const rates = [0, 0.25, 0.5, 0.75, 1].map((part) => rateAt(chunks, weight * (1 - part)));
  return {
    txCount: chunks.reduce((sum, { count }) => sum + count, 0),
    vsize: Math.ceil(weight / 4),
    weight,
    totalFee: chunks.reduce((sum, { fee }) => sum + fee, 0),
    medianFeeRate: rates[2]!,
    feeRange: rates,
  };
}

/** Returns the feerate (sat/vB) of the chunk at which the cumulative weight reaches `weight`. */
function rateAt(chunks: readonly ProjectedChunk[], weight: number): number {
  let passed = 0;
  for (const { fee, size } of chunks) {
    passed += size;
    if (passed >= weight) return Math.round((fee * 4000) / size) / 1000;
  }
  return 0;
}
