/** A running scan of block filters. */
export interface FilterScan {
  /** Percent. */
  progress: number;
  height: number;
  readonly abort: AbortController;
}

/** State that calls share: one for each server. */
export class RpcState {
  /** Number of calls that wait for a tip, by the id of the caller. */
  readonly tipWaits = new Map<string, number>();
  /** At most one scan per server, as in Core. */
  filterScan: FilterScan | null = null;
  /** Whether loadtxoutset is running. */
  loading = false;
  /** Files that dumptxoutset is writing. */
  readonly dumps = new Set<string>();
  /** Transactions of the newest block template: several megabytes, which the node sends once. */
  template: { readonly id: number; readonly transactions: Uint8Array } | null = null;
}
