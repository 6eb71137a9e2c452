import type { TxRejection } from '../../consensus/rejection.ts';
import type { PeerId } from '../../mempool/orphanage.ts';
import type { AcceptResult, PackageResult } from '../../mempool/result.ts';
import type { ParsedTransaction } from '../../primitives/block.ts';
import { hashToHex, type Txid } from '../../primitives/hash.ts';
import type { PackageToValidate, TxDownload } from './tx-download.ts';

/** A transaction that got in as part of a package. */
export interface AcceptedTx {
  readonly parsed: ParsedTransaction;
  readonly sender: PeerId;
  readonly replaced: readonly Txid[];
}

/**
 * Tells the download what the mempool said of a package. Returns what got in, which is to be announced, and peers that
 * have work now.
 */
export function packageJudged(
  download: TxDownload,
  { txs, senders }: PackageToValidate,
  { rejection, results }: PackageResult,
): { readonly accepted: readonly AcceptedTx[]; readonly working: readonly PeerId[] } {
  if (rejection) download.mempoolRejectedPackage(txs);
  const accepted: AcceptedTx[] = [];
  const working = new Set<PeerId>();
  // The child first: it leaves the orphanage before its parent would have it looked at again.
  for (const i of [1, 0] as const) {
    const parsed = txs[i];
    const result = results.get(hashToHex(parsed.wtxid));
    if (!result) continue;
    if (result.status === 'accepted') {
      for (const peer of download.mempoolAccepted(parsed)) working.add(peer);
      accepted.unshift({ parsed, sender: senders[i], replaced: result.replaced });
    } else {
      const refusal = refusalOf(result);
      if (refusal) download.mempoolRejected(parsed, refusal, senders[i], false);
    }
  }
  return { accepted, working: [...working] };
}

/** Why the mempool did not take a transaction; null where it has it. */
export function refusalOf(result: AcceptResult): TxRejection | null {
  if (result.status === 'rejected') return result.rejection;
  if (result.status === 'different-witness') return { kind: 'conflict', reason: 'txn-same-nonwitness-data-in-mempool' };
  return null;
}
