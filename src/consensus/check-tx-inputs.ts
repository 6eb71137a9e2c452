import type { Amount } from '../primitives/amount.ts';
import { type Coin, coinHeight, isCoinbaseCoin } from '../primitives/coin.ts';
import type { Transaction } from '../primitives/transaction.ts';
import type { Result } from '../util/result.ts';
import { COINBASE_MATURITY, MAX_MONEY_NUMBER } from './limits.ts';
import { moneyText } from './money-text.ts';
import { reject, type TxRejection } from './rejection.ts';

/**
 * Returns the rejection for missing or spent inputs. It takes precedence over faults of the inputs that exist, as in
 * Core.
 */
export function missingInputs() {
  return reject('missing-inputs', 'bad-txns-inputs-missingorspent', 'CheckTxInputs: inputs missing/spent');
}

/**
 * Returns the fee in satoshis, or a rejection if a coin is immature or the values are out of range. `coins` are the
 * spent coins in input order. `tx` has passed `checkTransaction`.
 */
export function checkSpentCoins(
  tx: Transaction,
  coins: readonly Coin[],
  spendHeight: number,
): Result<Amount, TxRejection> {
  let valueIn = 0;
  for (const coin of coins) {
    const depth = spendHeight - coinHeight(coin);
    if (depth < COINBASE_MATURITY && isCoinbaseCoin(coin))
      return reject(
        'premature-spend',
        'bad-txns-premature-spend-of-coinbase',
        `tried to spend coinbase at depth ${depth}`,
      );
    const value = Number(coin.output.value);
    valueIn += value;
    if (value < 0 || value > MAX_MONEY_NUMBER || valueIn > MAX_MONEY_NUMBER)
      return reject('consensus', 'bad-txns-inputvalues-outofrange');
  }
  // The outputs have passed `checkTransaction`, so all partial sums are in MoneyRange.
  let valueOut = 0;
  for (const { value } of tx.outputs) valueOut += Number(value);
  if (valueIn < valueOut)
    return reject(
      'consensus',
      'bad-txns-in-belowout',
      `value in (${moneyText(BigInt(valueIn))}) < value out (${moneyText(BigInt(valueOut))})`,
    );
  return { ok: true, value: BigInt(valueIn - valueOut) };
}
