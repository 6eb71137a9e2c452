/** An amount in satoshis, 10^-8 of a coin. */
export type Amount = bigint;

export const COIN = 100_000_000n;

/** Upper bound of a valid amount; the sum of all subsidies is a little less. */
export const MAX_MONEY = 21_000_000n * COIN;

export function isMoneyRange(amount: Amount): boolean {
  return amount >= 0n && amount <= MAX_MONEY;
}
