import { equalBytes } from '../../util/bytes.ts';

/** A transaction by the id that a peer announced it by: BIP-339 has wtxids take the place of txids. */
export interface GenTxid {
  readonly by: 'txid' | 'wtxid';
  readonly hash: Uint8Array;
}

/** Whether a transaction has a witness, and so two ids. */
export function hasOwnWtxid({ txid, wtxid }: { readonly txid: Uint8Array; readonly wtxid: Uint8Array }): boolean {
  return !equalBytes(txid, wtxid);
}
