import { fail } from '../http/errors.ts';
import type { ParsedTransaction } from '../primitives/block.ts';

/** A transaction as a client sent it, with its limits. */
export interface Broadcast {
  readonly tx: ParsedTransaction;
  /** Maximum fee rate, satoshis per virtual byte; 0 for no limit. */
  readonly maxFeeRate: number;
  /** Maximum value of unspendable outputs, satoshis. */
  readonly maxBurn: number;
}

/** Throws `syncing` during initial block download, but not on regtest, where blocks may be old. */
export function checkNotSyncing(
  status: { readonly initialBlockDownload: boolean; readonly headers: number },
  network: string,
  height: number,
): void {
  if (!status.initialBlockDownload || network === 'regtest') return;
  fail('syncing', 'the node is still in initial block download', { height, headers: status.headers });
}
