import { MAX_MONEY } from '../primitives/amount.ts';

export { LOCKTIME_THRESHOLD } from '../script/script-limits.ts';

/** Maximum weight of a block (BIP-141). */
export const MAX_BLOCK_WEIGHT = 4_000_000;

/** Maximum serialized size of a block, bytes; follows from its weight. */
export const MAX_BLOCK_SERIALIZED_SIZE = 4_000_000;

/** Maximum cost of signature operations in a block; one outside of a witness costs four (BIP-141). */
export const MAX_BLOCK_SIGOPS_COST = 80_000;

/** Weight of a byte outside of the witness; a witness byte weighs one. */
export const WITNESS_SCALE_FACTOR = 4;

/** Number of confirmations before a coinbase output may be spent. */
export const COINBASE_MATURITY = 100;

/** Lower bound on the weight of a transaction that can be valid (60 bytes). */
export const MIN_TRANSACTION_WEIGHT = WITNESS_SCALE_FACTOR * 60;

/** The sequence of an input without a lock. */
export const SEQUENCE_FINAL = 0xffff_ffff;

/** The highest sequence that leaves the locktime of the transaction in force. */
export const MAX_SEQUENCE_NONFINAL = SEQUENCE_FINAL - 1;

/** BIP-68: this bit disables the relative lock. */
export const SEQUENCE_LOCKTIME_DISABLE_FLAG = 0x8000_0000;

/** BIP-68: with this bit the lock counts units of 512 seconds, without it blocks. */
export const SEQUENCE_LOCKTIME_TYPE_FLAG = 0x0040_0000;

export const SEQUENCE_LOCKTIME_MASK = 0xffff;

/** BIP-68: a unit of time is 2^9 = 512 seconds. */
export const SEQUENCE_LOCKTIME_GRANULARITY = 9;

/** Bound by which a block's time may be ahead of the node's, seconds. */
export const MAX_FUTURE_BLOCK_TIME = 2 * 60 * 60;

/** BIP-94: bound by which the first block of a period may be earlier than the block before, seconds. */
export const MAX_TIMEWARP = 600;

/** Number of blocks in the median time past. */
export const MEDIAN_TIME_SPAN = 11;

export const COINBASE_SCRIPT_SIG_MIN = 2;
export const COINBASE_SCRIPT_SIG_MAX = 100;

/**
 * `MAX_MONEY` as a double, for loops over many amounts. All amounts up to it are exact; a greater one, or a sum of two
 * amounts, cannot round down to it.
 */
export const MAX_MONEY_NUMBER = Number(MAX_MONEY);
