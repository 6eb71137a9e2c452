/** Units of long reads that cost as much of a rate limit as one call. `/api/config/limits` shows them. */
export const UNITS_PER_CALL = {
  /** Keys that `/api/xpub` and its lists derive. */
  xpubKeys: 100,
  chartPoints: 100,
  /** Full transactions of a page. */
  fullTxs: 100,
  /** Transactions of `POST /api/txs/details`. */
  txDetails: 100,
  /** Addresses of `POST /api/balances` and `POST /api/utxos`. */
  addresses: 100,
  /** Watches of one `POST /api/watches`. */
  watches: 100,
} as const;
