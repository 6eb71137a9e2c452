import { rawJson } from './raw-json.ts';

/** Satoshis as a JSON integer, exact also where a lifetime's sum passes 2^53. */
export function sat(amount: bigint | number): number {
  if (typeof amount === 'number') return amount;
  const value = Number(amount);
  // A raw JSON number is no number to TypeScript, but it is one to whoever reads the text.
  return Number.isSafeInteger(value) ? value : (rawJson(amount.toString()) as unknown as number);
}

/** Satoshis per virtual byte, three decimals. */
export function feeRate(fee: bigint | number, vsize: number): number {
  return Math.round((Number(fee) * 1000) / vsize) / 1000;
}

/** Coins with eight decimals, as text. */
export function coinsText(amount: bigint): string {
  const magnitude = amount < 0n ? -amount : amount;
  const text = magnitude.toString().padStart(9, '0');
  return `${amount < 0n ? '-' : ''}${text.slice(0, -8)}.${text.slice(-8)}`;
}
