import type { TxPosition } from '../primitives/coin.ts';
import type { Outpoint } from '../primitives/outpoint.ts';

/** Rows that an answer will read. A source that fetches rows does so for all of them together. */
export interface ExpectedRows {
  /** Heights of headers. */
  readonly heights?: readonly number[];
  /** Ids of transactions that are looked up, wire order. */
  readonly txids?: readonly Uint8Array[];
  /** Positions of transactions that are read with their spent outputs. */
  readonly transactions?: readonly TxPosition[];
  /** Scripts whose totals are read. */
  readonly scripts?: readonly Uint8Array[];
  /** Outputs whose spending transactions are read. */
  readonly spent?: readonly Outpoint[];
}
