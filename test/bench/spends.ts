import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { type Payee, spend } from '../lib/tx-builder.ts';

/** Outputs of `VALUE` satoshis that one mined transaction creates. */
export const COINS_PER_BLOCK = 10_000;
const VALUE = 100_000n;
const FIRST_OUTPUT = 50_000n;

/**
 * Returns `count` ordinary spends with one input and two outputs. Their coins are created by blocks mined on `chain`,
 * which needs a spendable coin at each height from 1. `feeOf` returns the fee of the n-th spend, at most 50,000
 * satoshis.
 */
export function ordinarySpends(chain: RegtestChain, count: number, feeOf: (n: number) => bigint): Transaction[] {
  const txs: Transaction[] = [];
  for (let height = 1; txs.length < count; height++) {
    const payees = Array.from({ length: COINS_PER_BLOCK }, (): Payee => ({ to: 'p2wpkh', value: VALUE }));
    const split = spend(chain.coin(height), payees);
    const txid = txidOf(split);
    chain.mine(1, { txs: [split] });
    for (const [vout, output] of split.outputs.slice(0, count - txs.length).entries())
      txs.push(
        spend({ outpoint: { txid, vout }, output }, [
          { to: 'p2wpkh', value: FIRST_OUTPUT },
          { to: 'p2wpkh', value: VALUE - FIRST_OUTPUT - feeOf(txs.length) },
        ]),
      );
  }
  return txs;
}
