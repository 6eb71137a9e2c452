import type { TxRejection } from '../../consensus/rejection.ts';
import type { AcceptResult, PackageResult } from '../../mempool/accept-result.ts';
import type { PeerId } from '../../mempool/orphanage.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import type { PackageToValidate, TxDownload } from './tx-download.ts';

/** A transaction accepted as part of a package. */
export interface AcceptedTx {
  readonly parsed: ParsedTransaction;
  readonly sender: PeerId;
  readonly replaced: readonly Txid[];
}

/**
 * Reports the mempool's result of a package to TxDownload. Returns the accepted transactions, to be announced, and the
 * peers that have orphans to reconsider.
 */
export function processPackageResult(
  download: TxDownload,
  { txs, senders }: PackageToValidate,
  { rejection, results }: PackageResult,
): { readonly accepted: readonly AcceptedTx[]; readonly working: readonly PeerId[] } {
  if (rejection) download.mempoolRejectedPackage(txs);
  const accepted: AcceptedTx[] = [];
  const working = new Set<PeerId>();
  // The child comes first: it must leave the orphanage before its parent would mark it for reconsideration.
  for (const i of [1, 0] as const) {
    const parsed = txs[i];
    const result = results.get(hashToHex(parsed.wtxid));
    if (!result) continue;
    if (result.status === 'accepted') {
      for (const peer of download.mempoolAccepted(parsed)) working.add(peer);
      accepted.unshift({ parsed, sender: senders[i], replaced: result.replaced });
    } else {
      const rejection = rejectionOf(result);
      if (rejection) download.mempoolRejected(parsed, rejection, senders[i], false);
    }
  }
  return { accepted, working: [...working] };
}

/** Returns why the mempool rejected a transaction; null if it has it. */
export function rejectionOf(result: AcceptResult): TxRejection | null {
  if (result.status === 'rejected') return result.rejection;
  if (result.status === 'different-witness') return { kind: 'conflict', reason: 'txn-same-nonwitness-data-in-mempool' };
  return null;
}
