import type { Database } from 'bun:sqlite';
import type { BlockHash } from '../primitives/hash.ts';
import type { ChainTotals } from './header-store.ts';

/**
 * The UTXO set that was loaded and is not validated yet; no row without one. `base` is its block, `tip` the last block of
 * the chain that is validated behind it. Older databases lack the table, so it is created when they are opened.
 */
export const LOADED_SET_SCHEMA = `
CREATE TABLE IF NOT EXISTS loaded_set (
  id INTEGER PRIMARY KEY CHECK (id = 1), base BLOB NOT NULL, tip BLOB NOT NULL, validated INTEGER NOT NULL,
  circulating INTEGER NOT NULL, utxos INTEGER NOT NULL, txs INTEGER NOT NULL
);
`;

export interface LoadedSet {
  readonly base: BlockHash;
  readonly tip: BlockHash;
  /** Whether the set equals the coins of the validated chain at its base; that chain still has to reach the tip. */
  readonly validated: boolean;
  /** Totals up to `tip`, which may have left the active chain. */
  readonly totals: ChainTotals;
}

/** Access to the row of the loaded set; writes belong into a transaction of the single writer. */
export class LoadedSetStore {
  readonly #get;
  readonly #put;
  readonly #remove;

  constructor(db: Database) {
    this.#get = db.prepare<{ base: Uint8Array; tip: Uint8Array; validated: number } & ChainTotals, []>(
      'SELECT base, tip, validated, circulating, utxos, txs FROM loaded_set',
    );
    this.#put = db.prepare<null, [Uint8Array, Uint8Array, number, number, number, number]>(
      'INSERT OR REPLACE INTO loaded_set (id, base, tip, validated, circulating, utxos, txs) VALUES (1, ?, ?, ?, ?, ?, ?)',
    );
    this.#remove = db.prepare<null, []>('DELETE FROM loaded_set');
  }

  get(): LoadedSet | null {
    const row = this.#get.get();
    if (row === null) return null;
    const { circulating, utxos, txs } = row;
    const totals = { circulating, utxos, txs };
    return { base: row.base as BlockHash, tip: row.tip as BlockHash, validated: row.validated === 1, totals };
  }

  put({ base, tip, validated, totals: { circulating, utxos, txs } }: LoadedSet): void {
    this.#put.run(base, tip, validated ? 1 : 0, circulating, utxos, txs);
  }

  remove(): void {
    this.#remove.run();
  }
}
