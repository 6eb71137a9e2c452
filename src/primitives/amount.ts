/** An amount in satoshis, 10^-8 of a coin. */
export type Amount = bigint;

export const COIN = 100_000_000n;

/** Upper bound of a valid amount; the sum of all subsidies is a little less. */
export const MAX_MONEY = 21_000_000n * COIN;

export function isMoneyRange(amount: Amount): boolean {
  return amount >= 0n && amount <= MAX_MONEY;
}

/** Formats an amount in coins with eight decimals: `-0.00012345`. */
export function formatCoins(amount: Amount): string {
  const magnitude = amount < 0n ? -amount : amount;
  return `${amount < 0n ? '-' : ''}${magnitude / COIN}.${(magnitude % COIN).toString().padStart(8, '0')}`;
}
