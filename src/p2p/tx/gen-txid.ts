import { equalBytes } from '../../util/bytes.ts';

/** Id of a transaction as a peer announced it: a txid, or a wtxid with BIP-339 (Core's GenTxid). */
export interface GenTxid {
  readonly by: 'txid' | 'wtxid';
  readonly hash: Uint8Array;
}

/** Returns whether the wtxid differs from the txid, because the transaction has a witness. */
export function hasOwnWtxid({ txid, wtxid }: { readonly txid: Uint8Array; readonly wtxid: Uint8Array }): boolean {
  return !equalBytes(txid, wtxid);
}
