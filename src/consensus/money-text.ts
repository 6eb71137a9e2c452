import { type Amount, COIN } from '../primitives/amount.ts';

/** Formats an amount in coins as Core's FormatMoney does: at least two decimals, further zeros cut. */
export function moneyText(amount: Amount): string {
  const magnitude = amount < 0n ? -amount : amount;
  const fraction = (magnitude % COIN).toString().padStart(8, '0');
  const text = `${magnitude / COIN}.${fraction.slice(0, 2)}${fraction.slice(2).replace(/0+$/, '')}`;
  return amount < 0n ? `-${text}` : text;
}
