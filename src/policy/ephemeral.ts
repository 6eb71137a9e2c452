import { reject, type TxRejection } from '../consensus/rejection.ts';
import type { Amount } from '../primitives/amount.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { outpointKey } from '../primitives/outpoint.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { dustOutputs } from './dust.ts';

/** A transaction that is validated, alone or in a package, with the dust of its own and its parents' outputs. */
export interface EphemeralTx {
  readonly parsed: Pick<ParsedTransaction, 'tx' | 'txid' | 'wtxid'>;
  /** Indexes of its own dust outputs. */
  readonly dust: readonly number[];
  /** Returns the indexes of the dust outputs of a mempool transaction; none if it is not in the mempool. */
  readonly mempoolDust: (txid: Txid) => readonly number[];
}

/** The index of the package transaction that leaves dust unspent, and its rejection. */
export interface UnspentDust {
  readonly index: number;
  readonly rejection: TxRejection;
}

/**
 * Rejects a transaction with dust that pays a fee, so that no miner includes it without the child that spends the dust
 * and pays for both. Fees in satoshis, without and with prioritisation.
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
 * Checks that each transaction spends all dust of its unconfirmed parents, in the package or the mempool: otherwise the
 * parent could be mined with this child and the dust would stay. Returns the first that leaves some.
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
