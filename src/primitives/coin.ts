import type { TxOutput } from './transaction.ts';

/**
 * Position of a transaction in the active chain as one number: `height * 2^20 + index in the block`. A block holds
 * fewer than 2^16 transactions and a height fits 31 bits, so it is exact in a double and sorts in chain order.
 */
export type TxPosition = number;

const INDEX_SPAN = 0x10_0000;

export function txPosition(height: number, index: number): TxPosition {
  return height * INDEX_SPAN + index;
}

/**
 * Index of a transaction whose place in its block is not known, other than a coinbase. A loaded UTXO set has only the
 * heights of its coins.
 */
export const UNKNOWN_INDEX = INDEX_SPAN - 1;

export function positionHeight(position: TxPosition): number {
  return Math.floor(position / INDEX_SPAN);
}

export function positionIndex(position: TxPosition): number {
  return position % INDEX_SPAN;
}

/** An unspent output with the position of the transaction that created it. */
export interface Coin {
  readonly output: TxOutput;
  readonly position: TxPosition;
}

export function coinHeight(coin: Coin): number {
  return positionHeight(coin.position);
}

/** The coinbase is the first transaction of a block. */
export function isCoinbaseCoin(coin: Coin): boolean {
  return positionIndex(coin.position) === 0;
}
