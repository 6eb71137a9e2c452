import { type Counts, LocalCounts } from '../../util/counts.ts';
import { FilterScans } from './filter-scans.ts';

/** State that calls share: one for each server. Its counts are those of all fronts. */
export class RpcState {
  /** Calls that wait for a tip, UTXO sets that are being loaded, and files that are being written. */
  readonly counts: Counts;
  readonly filterScans: FilterScans;
  /** Transactions of the newest block template: several megabytes, which the node sends once. */
  template: { readonly id: number; readonly transactions: Uint8Array } | null = null;

  constructor(counts: Counts | null = null) {
    this.counts = counts ?? new LocalCounts();
    this.filterScans = new FilterScans(this.counts);
  }
}
