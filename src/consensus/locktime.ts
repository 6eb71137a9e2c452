import type { ParsedBlock } from '../primitives/block.ts';
import { u32At } from '../primitives/block-columns.ts';
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
 * Whether a transaction is final in a block at `height`. `time`: the time of the block, or with BIP-113 the median time
 * past of its parent; Unix seconds.
 */
export function isFinalTx({ locktime, inputs }: Transaction, height: number, time: number): boolean {
  if (isFinalAtAnySequence(locktime, height, time)) return true;
  for (const { sequence } of inputs) if (sequence !== SEQUENCE_FINAL) return false;
  return true;
}

/** As `isFinalTx`, for a transaction of a block. */
export function isFinalTxAt({ raw, columns }: ParsedBlock, i: number, height: number, time: number): boolean {
  const { txAt, firstInput, sequenceAt } = columns;
  if (isFinalAtAnySequence(u32At(raw, txAt[i + 1]! - 4), height, time)) return true;
  for (let n = firstInput[i]!; n < firstInput[i + 1]!; n++)
    if (u32At(raw, sequenceAt[n]!) !== SEQUENCE_FINAL) return false;
  return true;
}

/** Whether a transaction with this locktime is final whatever the sequences of its inputs. */
export function isFinalAtAnySequence(locktime: number, height: number, time: number): boolean {
  return locktime === 0 || locktime < (locktime < LOCKTIME_THRESHOLD ? height : time);
}

/** BIP-68: the last height and the last median time past that are too early; -1 without a lock. */
export interface SequenceLocks {
  readonly height: number;
  readonly time: number;
}

const NO_SEQUENCE_LOCKS: SequenceLocks = { height: -1, time: -1 };

/**
 * Returns the relative locks of a transaction in a child of `parent` (BIP-68). `coins`: the spent coins in input order;
 * an unconfirmed coin counts as created in that child. The caller knows whether BIP-68 is active.
 */
export function calculateSequenceLocks(tx: Transaction, coins: readonly Coin[], parent: HeaderEntry): SequenceLocks {
  // The version is compared as unsigned, so that a negative one enables the locks too.
  if (tx.version < 2) return NO_SEQUENCE_LOCKS;
  let height = -1;
  let time = -1;
  for (let i = 0; i < tx.inputs.length; i++) {
    const { sequence } = tx.inputs[i]!;
    if (sequence >= SEQUENCE_LOCKTIME_DISABLE_FLAG) continue;
    const madeAt = coinHeight(coins[i]!);
    const value = sequence & SEQUENCE_LOCKTIME_MASK;
    if (sequence & SEQUENCE_LOCKTIME_TYPE_FLAG) {
      // The time counts from the median time past of the block before the coin's.
      const from = medianTimePast(parent.ancestor(Math.max(madeAt - 1, 0))!);
      time = Math.max(time, from + (value << SEQUENCE_LOCKTIME_GRANULARITY) - 1);
    } else height = Math.max(height, madeAt + value - 1);
  }
  return height === -1 && time === -1 ? NO_SEQUENCE_LOCKS : { height, time };
}

/** Whether the locks are satisfied in a block at `height` whose parent has this median time past. */
export function evaluateSequenceLocks(locks: SequenceLocks, height: number, parentMedianTime: number): boolean {
  return locks.height < height && locks.time < parentMedianTime;
}
