import { integer, number, type Setting } from './setting.ts';

/** Weight limit of a block (BIP-141). */
const MAX_BLOCK_WEIGHT = 4_000_000;
/** Core's MINIMUM_BLOCK_RESERVED_WEIGHT: enough for the header, the number of transactions and a small coinbase. */
const MIN_RESERVED_WEIGHT = 2000;

/** Block templates, and the blocks that the node makes itself. */
export const MINING_SETTINGS = {
  'mining.minFeeRate': number({
    fallback: 0.001,
    max: 1_000_000,
    unit: 'sat/vB',
    help: 'least fee rate of the transactions of a block',
  }),
  'mining.maxWeight': integer({
    fallback: MAX_BLOCK_WEIGHT,
    min: MIN_RESERVED_WEIGHT,
    max: MAX_BLOCK_WEIGHT,
    unit: 'weight units',
    help: 'weight of a block, including mining.reservedWeight',
  }),
  'mining.reservedWeight': integer({
    fallback: 8000,
    min: MIN_RESERVED_WEIGHT,
    max: MAX_BLOCK_WEIGHT,
    unit: 'weight units',
    help: 'weight of a block that is left for its header and coinbase',
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;
