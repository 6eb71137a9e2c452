import type { Amount } from '../../primitives/amount.ts';
import type { RandomBelow } from '../../util/random.ts';

/** Bounds of the change target, satoshis. */
export const CHANGE_LOWER: Amount = 50_000n;
const CHANGE_UPPER: Amount = 1_000_000n;

/**
 * Returns the change to aim at, including its fee: a random amount up to twice the average payment, so that the amounts
 * do not reveal which output is the change.
 */
export function changeTarget(payment: Amount, changeFee: Amount, random: RandomBelow): Amount {
  if (payment <= CHANGE_LOWER / 2n) return changeFee + CHANGE_LOWER;
  const upper = payment * 2n < CHANGE_UPPER ? payment * 2n : CHANGE_UPPER;
  return changeFee + CHANGE_LOWER + BigInt(random(Number(upper - CHANGE_LOWER)));
}
