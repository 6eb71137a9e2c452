import { type Coin, coinHeight } from '../primitives/coin.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { type HeaderEntry, medianTimePast } from './header-entry.ts';
import {
  LOCKTIME_THRESHOLD,
  SEQUENCE_FINAL,
  SEQUENCE_LOCKTIME_DISABLE_FLAG,
  SEQUENCE_LOCKTIME_GRANULARITY,
  SEQUENCE_LOCKTIME_MASK,
  SEQUENCE_LOCKTIME_TYPE_FLAG,
} from './limits.ts';

/**
 * Whether the locktime lets a transaction into a block at `height`. `time` is the block's own, or from BIP-113 on the
 * median time past of its parent.
 */
export function isFinalTx({ locktime, inputs }: Transaction, height: number, time: number): boolean {
  if (isFinalAtAnySequence(locktime, height, time)) return true;
  for (const { sequence } of inputs) if (sequence !== SEQUENCE_FINAL) return false;
  return true;
}

/** Whether a transaction with this locktime is final there, whatever the sequences of its inputs are. */
export function isFinalAtAnySequence(locktime: number, height: number, time: number): boolean {
  return locktime === 0 || locktime < (locktime < LOCKTIME_THRESHOLD ? height : time);
}

/** BIP-68: the last height and the last median time past that are still too early; -1 where there is none. */
export interface SequenceLocks {
  readonly height: number;
  readonly time: number;
}

const NO_SEQUENCE_LOCKS: SequenceLocks = { height: -1, time: -1 };

/**
 * What the sequences of a transaction ask of a child of `parent`, given the coins its inputs spend, in their order. A
 * coin that is not in a block yet counts as made in that child. Whether BIP-68 holds there is the caller's to know.
 */
export function calculateSequenceLocks(tx: Transaction, coins: readonly Coin[], parent: HeaderEntry): SequenceLocks {
  // The version is compared unsigned, so one that reads as negative is bound as well.
  if (tx.version < 2) return NO_SEQUENCE_LOCKS;
  let height = -1;
  let time = -1;
  for (let i = 0; i < tx.inputs.length; i++) {
    const { sequence } = tx.inputs[i]!;
    if (sequence >= SEQUENCE_LOCKTIME_DISABLE_FLAG) continue;
    const madeAt = coinHeight(coins[i]!);
    const value = sequence & SEQUENCE_LOCKTIME_MASK;
    if (sequence & SEQUENCE_LOCKTIME_TYPE_FLAG) {
      // Counted from the earliest time the coin's block could have had: the median before it.
      const from = medianTimePast(parent.ancestor(Math.max(madeAt - 1, 0))!);
      time = Math.max(time, from + (value << SEQUENCE_LOCKTIME_GRANULARITY) - 1);
    } else height = Math.max(height, madeAt + value - 1);
  }
  return height === -1 && time === -1 ? NO_SEQUENCE_LOCKS : { height, time };
}

/** Whether a block at `height`, whose parent has this median time past, is late enough for the locks. */
export function evaluateSequenceLocks(locks: SequenceLocks, height: number, parentMedianTime: number): boolean {
  return locks.height < height && locks.time < parentMedianTime;
}
