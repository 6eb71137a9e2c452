import { checkSpentCoins, missingInputs } from '../../src/consensus/check-tx-inputs.ts';
import type { TxRejection } from '../../src/consensus/rejection.ts';
import type { Amount } from '../../src/primitives/amount.ts';
import type { Coin } from '../../src/primitives/coin.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import type { Result } from '../../src/util/result.ts';

export interface CoinView {
  get(outpoint: Outpoint): Coin | null | undefined;
}

/** Core's CheckTxInputs: looks up the coins, checks them, and returns the fee. */
export function checkTxInputs(tx: Transaction, view: CoinView, spendHeight: number): Result<Amount, TxRejection> {
  const coins = tx.inputs.flatMap(({ prevout }) => view.get(prevout) ?? []);
  return coins.length < tx.inputs.length ? missingInputs() : checkSpentCoins(tx, coins, spendHeight);
}
