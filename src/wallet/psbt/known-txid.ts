import type { Txid } from '../../primitives/hash.ts';
import { type Transaction, txidOf } from '../../primitives/transaction.ts';

const known = new WeakMap<Transaction, Txid>();

/** Stores the txid of a transaction that was computed from its bytes. */
export function noteTxid(tx: Transaction, txid: Txid): void {
  known.set(tx, txid);
}

/**
 * Returns the txid of a whole transaction of a PSBT. It is hashed once, since it is compared repeatedly and may be
 * large.
 */
export function knownTxidOf(tx: Transaction): Txid {
  let txid = known.get(tx);
  if (txid === undefined) known.set(tx, (txid = txidOf(tx)));
  return txid;
}
