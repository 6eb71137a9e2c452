import { MAX_MONEY } from '../primitives/amount.ts';

export { LOCKTIME_THRESHOLD } from '../script/limits.ts';

/** BIP-141: most weight a block may have. */
export const MAX_BLOCK_WEIGHT = 4_000_000;

/** Most bytes a block may take on the wire; follows from its weight. */
export const MAX_BLOCK_SERIALIZED_SIZE = 4_000_000;

/** BIP-141: a signature operation outside of a witness costs four. */
export const MAX_BLOCK_SIGOPS_COST = 80_000;

/** A byte outside of the witness weighs as much as this many in it. */
export const WITNESS_SCALE_FACTOR = 4;

/** Blocks that must follow a coinbase before it may be spent. */
export const COINBASE_MATURITY = 100;

/** Lower bound on the weight of a transaction that can be valid (60 bytes). */
export const MIN_TRANSACTION_WEIGHT = WITNESS_SCALE_FACTOR * 60;

/** The sequence of an input that asks for no lock. */
export const SEQUENCE_FINAL = 0xffff_ffff;

/** The highest sequence with which the locktime of the transaction counts. */
export const MAX_SEQUENCE_NONFINAL = SEQUENCE_FINAL - 1;

/** BIP-68: with this bit the sequence is no relative lock. */
export const SEQUENCE_LOCKTIME_DISABLE_FLAG = 0x8000_0000;

/** BIP-68: with this bit the lock counts units of 512 seconds, else blocks. */
export const SEQUENCE_LOCKTIME_TYPE_FLAG = 0x0040_0000;

export const SEQUENCE_LOCKTIME_MASK = 0xffff;

/** BIP-68: 2^9 = 512 seconds to a unit. */
export const SEQUENCE_LOCKTIME_GRANULARITY = 9;

/** Seconds by which a block's time may be ahead of the clock. */
export const MAX_FUTURE_BLOCK_TIME = 2 * 60 * 60;

/** BIP-94: seconds by which the first block of a period may be earlier than the last one of the period before. */
export const MAX_TIMEWARP = 600;

/** Blocks whose times the median is taken of. */
export const MEDIAN_TIME_SPAN = 11;

export const COINBASE_SCRIPT_SIG_MIN = 2;
export const COINBASE_SCRIPT_SIG_MAX = 100;

/**
 * `MAX_MONEY` as a double, for loops over many amounts: up to here each is exact, one above it stays above it, and so
 * does the sum of two.
 */
export const MAX_MONEY_NUMBER = Number(MAX_MONEY);
