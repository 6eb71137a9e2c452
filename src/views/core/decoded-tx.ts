import type { NetworkParams } from '../../params/network-params.ts';
import { isCoinbase, type Transaction, transactionBytes, txidOf, wtxidOf } from '../../primitives/transaction.ts';
import { coreTx } from './core-tx.ts';

/** Returns any transaction in the form of Core's RPC, without its hex. */
export function decodedTx(tx: Transaction, params: Pick<NetworkParams, 'address'>) {
  const parsed = {
    tx,
    txid: txidOf(tx),
    wtxid: wtxidOf(tx),
    raw: transactionBytes(tx),
    offset: 0,
    strippedSize: transactionBytes(tx, { witness: false }).length,
  };
  const facts = { parsed, isCoinbase: isCoinbase(tx), spent: null, place: null };
  const { hex: _, ...shown } = coreTx(facts, params, { withFee: false, withPrevouts: false });
  return shown;
}
