import { type Amount, formatCoins } from '../primitives/amount.ts';

/** Formats an amount in coins as Core's FormatMoney does: at least two decimals, further zeros cut. */
export function moneyText(amount: Amount): string {
  return formatCoins(amount).replace(/(\.\d\d\d*?)0+$/, '$1');
}
