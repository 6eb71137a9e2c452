import { type Amount, formatCoins } from '../primitives/amount.ts';
import { rawJson } from './raw-json.ts';

/** Returns an amount in coins, always with eight decimals. */
export function coins(amount: Amount | number): unknown {
  return rawJson(formatCoins(BigInt(amount)));
}

/** Returns a number with 16 significant digits, as Core prints it. */
export function double(value: number): number {
  return Number(value.toPrecision(16));
}
