import { MAX_BLOCK_WEIGHT } from '../consensus/limits.ts';

/** Limits of the blocks that the node makes and of its templates. */
export interface MiningOptions {
  /** Least feerate of a chunk of transactions, satoshis per 1,000 virtual bytes (Core's -blockmintxfee). */
  readonly minFeerate: bigint;
  /** Maximum weight of a block (Core's -blockmaxweight). */
  readonly maxWeight: number;
  /** Weight that is left for the header and the coinbase, part of `maxWeight` (Core's -blockreservedweight). */
  readonly reservedWeight: number;
}

export const DEFAULT_MINING_OPTIONS: MiningOptions = {
  minFeerate: 1n,
  maxWeight: MAX_BLOCK_WEIGHT,
  reservedWeight: 8000,
};
