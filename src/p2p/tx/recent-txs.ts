import type { ParsedBlock } from '../../primitives/block.ts';
import { type RandomTweak, RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import { hasOwnWtxid } from './gen-txid.ts';

/** Two minutes of the smallest transactions from fast peers. */
const REJECTED = 120_000;
/** Both ids of what is in some six full blocks. */
const CONFIRMED = 48_000;
/** Less than one transaction a day is left out by mistake. */
const FALSE_POSITIVES = 0.000_001;

/** What became of transactions lately, so that they are not fetched again from every peer that has them. About 3 MB. */
export class RecentTxs {
  /** Of no use on this tip: wtxids, and txids where no witness could change it. */
  readonly rejected: RollingBloomFilter;
  /** Of no use by themselves: wtxids of what pays too little, and hashes of packages that were of no use together. */
  readonly reconsiderable: RollingBloomFilter;
  /** In a block: both ids. */
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

  /** What was in the block may be announced again. */
  blockDisconnected(): void {
    this.confirmed.reset();
  }

  /** On another tip other things are good. */
  tipChanged(): void {
    this.rejected.reset();
    this.reconsiderable.reset();
  }
}
