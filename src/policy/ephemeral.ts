import { reject, type TxRejection } from '../consensus/rejection.ts';
import type { Amount } from '../primitives/amount.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { outpointKey } from '../primitives/outpoint.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { dustOutputs } from './dust.ts';

/** A transaction that enters, alone or in a package, and what there is to know about the dust it meets. */
export interface EphemeralTx {
  readonly parsed: Pick<ParsedTransaction, 'tx' | 'txid' | 'wtxid'>;
  /** Which of its own outputs are dust. */
  readonly dust: readonly number[];
  /** Which outputs of a transaction of the mempool are dust; none for one that is not there. */
  readonly mempoolDust: (txid: Txid) => readonly number[];
}

/** Dust that was not spent: by which transaction of the package, and what to say about it. */
export interface UnspentDust {
  readonly index: number;
  readonly rejection: TxRejection;
}

/**
 * A transaction with dust must pay nothing, so that no miner takes it without the child that spends the dust and pays
 * for both. Fees in satoshis, as they are and with prioritisation.
 */
export function preCheckEphemeralTx(
  tx: Transaction,
  dustFeerate: Amount,
  fee: Amount,
  modifiedFee: Amount,
): TxRejection | null {
  if (fee === 0n && modifiedFee === 0n) return null;
  if (dustOutputs(tx, dustFeerate).length === 0) return null;
  return reject('policy', 'dust', 'tx with dust output must be 0-fee');
}

/**
 * Whether each transaction spends all dust of each of its unconfirmed parents, in the package or the mempool. Otherwise
 * the parent could be mined with this child alone and the dust would stay. Yields the first that leaves some.
 */
export function checkEphemeralSpends(txs: readonly EphemeralTx[]): UnspentDust | null {
  const packageDust = new Map(txs.map(({ parsed, dust }) => [hashToHex(parsed.txid), dust]));
  for (const [index, { parsed, mempoolDust }] of txs.entries()) {
    const { inputs } = parsed.tx;
    const parents = new Map(inputs.map(({ prevout }) => [hashToHex(prevout.txid), prevout.txid]));
    const unspent = new Set<string>();
    for (const [hex, txid] of parents)
      for (const vout of packageDust.get(hex) ?? mempoolDust(txid)) unspent.add(outpointKey({ txid, vout }));
    for (const { prevout } of inputs) {
      if (unspent.size === 0) break;
      unspent.delete(outpointKey(prevout));
    }
    if (unspent.size === 0) continue;
    const name = `tx ${hashToHex(parsed.txid)} (wtxid=${hashToHex(parsed.wtxid)})`;
    return {
      index,
      rejection: reject('policy', 'missing-ephemeral-spends', `${name} did not spend parent's ephemeral dust`),
    };
  }
  return null;
}
