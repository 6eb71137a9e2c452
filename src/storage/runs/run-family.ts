/**
 * A kind of rows that is stored in runs. Keys have a fixed width and sort as bytes. Where `sums` is set, a value begins
 * with a pair of amounts (`pair-codec.ts`) that pages add up, so that the sums of a range of keys cost two look-ups.
 */
export interface RunFamily {
  /** Name in the names of files. */
  readonly name: string;
  /** Number in the manifest, and in files unless `fileCode` differs; never used for another family. */
  readonly code: number;
  /** Number in files; that of another family if the runs of that one may become runs of this one. */
  readonly fileCode?: number;
  /** Bytes of a key. */
  readonly keySize: number;
  /** Bytes of the key that the filter of a run holds; 0 without a filter. Those of formats before 3 hold the txid alone. */
  readonly filterSize: number;
  readonly sums: boolean;
}

/** Unspent outputs: txid in wire order and output index big-endian, which is the order of Core's UTXO set. */
export const COINS: RunFamily = { name: 'coins', code: 1, keySize: 36, filterSize: 36, sums: false };

/** Transactions by the first six bytes of the txid, and position. */
export const TX_INDEX: RunFamily = { name: 'txindex', code: 2, keySize: 12, filterSize: 0, sums: false };

/** Transactions of a script: script key and position; received and sent amounts. */
export const HISTORY: RunFamily = { name: 'history', code: 3, keySize: 16, filterSize: 0, sums: true };

/** Unspent outputs of a script: script key, position and output index; value. */
export const SCRIPT_COINS: RunFamily = { name: 'scriptcoins', code: 4, keySize: 20, filterSize: 0, sums: true };

/** Inputs by the outpoint that they spend: first six bytes of its txid, output index; position of the spending transaction. */
export const SPENDERS: RunFamily = { name: 'spenders', code: 5, keySize: 15, filterSize: 0, sums: false };

/**
 * Unspent outputs of the chain that is validated behind a loaded UTXO set. When a set is loaded, the coins of the
 * active chain become this family, and when the background chain has caught up, this family becomes COINS. The files of
 * both are therefore the same.
 */
export const BACKGROUND_COINS: RunFamily = { ...COINS, code: 6, fileCode: COINS.code };

/** Returns the name of a family for operators; that in the names of files is the same for all coins. */
export function familyTitle(family: RunFamily): string {
  return family === BACKGROUND_COINS ? 'coins of the validated chain' : family.name;
}

export const RUN_FAMILIES: readonly RunFamily[] = [COINS, TX_INDEX, HISTORY, SCRIPT_COINS, SPENDERS, BACKGROUND_COINS];
