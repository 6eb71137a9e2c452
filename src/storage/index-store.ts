import type { Database } from 'bun:sqlite';
import type { BlockHash } from '../primitives/hash.ts';

/**
 * The indexes of chain.db that can be switched on and off:
 * - positions: the table `txs`, by which the others find the bytes of a transaction and its txid;
 * - tx: positions by txid;
 * - address: history and coins of scripts;
 * - spender: positions of the transactions that spend outputs;
 * - coinStats: statistics of the UTXO set at each block.
 */
export type IndexName = (typeof INDEX_NAMES)[number];
export const INDEX_NAMES = ['positions', 'tx', 'address', 'spender', 'coinStats'] as const;

/** The indexes that have rows for each transaction. They become part of the commits of the chain. */
export type TxIndexName = Exclude<IndexName, 'coinStats'>;

/** The indexes that an operator switches on and off. The positions are kept while any of them is on. */
export interface IndexSwitches {
  readonly tx: boolean;
  readonly address: boolean;
  readonly spender: boolean;
  readonly coinStats: boolean;
}

/** Returns the indexes that are kept, in the order in which they are named. */
export function enabledIndexes(switches: IndexSwitches): IndexName[] {
  return switches.coinStats ? [...enabledTxIndexes(switches), 'coinStats'] : enabledTxIndexes(switches);
}

/** As `enabledIndexes`, without those that have no rows for transactions. */
export function enabledTxIndexes({ tx, address, spender }: Omit<IndexSwitches, 'coinStats'>): TxIndexName[] {
  const names: TxIndexName[] = [];
  if (tx || address || spender) names.push('positions');
  if (tx) names.push('tx');
  if (address) names.push('address');
  if (spender) names.push('spender');
  return names;
}

/** The last block whose rows an index has; it has the rows of all earlier blocks as well. */
export interface CoveredBlock {
  readonly hash: BlockHash;
  readonly height: number;
}

/** Read access to the blocks up to which the indexes have their rows. */
export class IndexStore {
  readonly #get;
  readonly #live;

  constructor(db: Database) {
    this.#get = db.prepare<{ hash: Uint8Array; height: number }, [string]>(
      'SELECT hash, height FROM indexes WHERE name = ?',
    );
    this.#live = db.prepare<{ name: IndexName }, []>(
      `SELECT i.name FROM indexes i, (SELECT header_id FROM chain ORDER BY height DESC LIMIT 1) tip
       JOIN headers h ON h.id = tip.header_id WHERE i.hash = h.hash`,
    );
  }

  /** Returns the indexes that cover the tip of the active chain. */
  live(): ReadonlySet<IndexName> {
    return new Set(this.#live.all().map(({ name }) => name));
  }

  /** Returns the block that an index covers, which may have left the active chain; null if the index has no rows. */
  covered(name: IndexName): CoveredBlock | null {
    return this.#get.get(name) as CoveredBlock | null;
  }
}

/** Write access for the single writer, within its transaction. */
export class IndexWriter {
  readonly #put;
  readonly #remove;

  constructor(db: Database) {
    this.#put = db.prepare<null, [string, Uint8Array, number]>(
      'INSERT OR REPLACE INTO indexes (name, hash, height) VALUES (?, ?, ?)',
    );
    this.#remove = db.prepare<null, [string]>('DELETE FROM indexes WHERE name = ?');
  }

  setCovered(name: IndexName, { hash, height }: CoveredBlock): void {
    this.#put.run(name, hash, height);
  }

  /** Records that an index has no rows. */
  clearCovered(name: IndexName): void {
    this.#remove.run(name);
  }
}
