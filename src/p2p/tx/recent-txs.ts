import type { ParsedBlock } from '../../primitives/block.ts';
import { type RandomTweak, RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import { hasOwnWtxid } from './gen-txid.ts';

/** Two minutes of the smallest transactions from fast peers (as in Core). */
const REJECTED = 120_000;
/** Both ids of the transactions of about six full blocks. */
const CONFIRMED = 48_000;
/** At this rate less than one transaction per day is skipped by mistake. */
const FALSE_POSITIVES = 0.000_001;

/**
 * Bloom filters of recently processed transactions, so that they are not downloaded again from every peer. About 3 MB.
 */
export class RecentTxs {
  /** Rejected on this tip: wtxids, and txids if no witness could change the result (Core's RecentRejectsFilter). */
  readonly rejected: RollingBloomFilter;
  /**
   * Rejected for their fee, but possibly valid in a package: wtxids, and hashes of rejected packages (Core's
   * RecentRejectsReconsiderableFilter).
   */
  readonly reconsiderable: RollingBloomFilter;
  /** Confirmed recently: both ids (Core's RecentConfirmedTransactionsFilter). */
  readonly confirmed: RollingBloomFilter;

  constructor(random?: RandomTweak) {
    this.rejected = new RollingBloomFilter(REJECTED, FALSE_POSITIVES, random);
    this.reconsiderable = new RollingBloomFilter(REJECTED, FALSE_POSITIVES, random);
    this.confirmed = new RollingBloomFilter(CONFIRMED, FALSE_POSITIVES, random);
  }

  blockConnected({ txs }: Pick<ParsedBlock, 'txs'>): void {
    for (const parsed of txs) {
      this.confirmed.insert(parsed.txid);
      if (hasOwnWtxid(parsed)) this.confirmed.insert(parsed.wtxid);
    }
  }

  /** Transactions of disconnected blocks may be announced again. */
  blockDisconnected(): void {
    this.confirmed.reset();
  }

  /** A new tip can make rejected transactions valid. */
  tipChanged(): void {
    this.rejected.reset();
    this.reconsiderable.reset();
  }
}
