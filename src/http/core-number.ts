import { type Amount, COIN } from '../primitives/amount.ts';
import { rawJson } from './raw-json.ts';

/** Returns an amount in coins, always with eight decimals. */
export function coins(amount: Amount | number): unknown {
  const value = BigInt(amount);
  const magnitude = value < 0n ? -value : value;
  const fraction = (magnitude % COIN).toString().padStart(8, '0');
  return rawJson(`${value < 0n ? '-' : ''}${magnitude / COIN}.${fraction}`);
}

/** Returns a number with 16 significant digits, as Core prints it. */
export function double(value: number): number {
  return Number(value.toPrecision(16));
}
