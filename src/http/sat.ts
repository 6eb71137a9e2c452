import { rawJson } from './raw-json.ts';

/** Returns satoshis as a JSON integer, which is exact even beyond 2^53. */
export function sat(amount: bigint | number): number {
  if (typeof amount === 'number') return amount;
  const value = Number(amount);
  // TypeScript does not regard a raw JSON number as a number, but its text is one.
  return Number.isSafeInteger(value) ? value : (rawJson(amount.toString()) as unknown as number);
}

/** Returns satoshis per virtual byte with three decimals. */
export function feeRateOf(fee: bigint | number, vsize: number): number {
  return Math.round((Number(fee) * 1000) / vsize) / 1000;
}
