import type { Config } from '../config/settings.ts';
import type { MiningOptions } from '../mining/mining-options.ts';
import { perKvB } from './relay-settings.ts';

/** Returns the limits of blocks and templates that the configuration sets. */
export function miningOptionsOf({ mining }: Pick<Config, 'mining'>): MiningOptions {
  const { minFeeRate, maxWeight, reservedWeight } = mining;
  return { minFeerate: perKvB(minFeeRate), maxWeight, reservedWeight };
}
