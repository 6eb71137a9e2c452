import type { SQL, TransactionSQL } from 'bun';
import { hashToHex } from '../primitives/hash.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import { SINK_SCHEMA } from './schema-name.ts';
import type { NamedBlock } from './sink-events.ts';

/** Sums over the active chain from the genesis block up to a block. Sizes in bytes, amounts in satoshis. */
export interface BlockTotals {
  readonly transactions: number;
  readonly size: number;
  readonly weight: number;
  readonly fees: number;
  /** Value of the UTXO set. */
  readonly supply: number;
  /** Number of unspent outputs. */
  readonly unspent: number;
}

/** The columns of the totals, in the order of `totalsRow`. */
export const TOTALS_COLUMNS = [
  ...['total_transactions', 'total_size', 'total_weight', 'total_fees', 'supply', 'unspent'],
] as const;

/** The tables of version 1 lack the totals, which the leader writes later. */
export const ADD_TOTALS: readonly string[] = TOTALS_COLUMNS.map(
  (column) => `ALTER TABLE ${SINK_SCHEMA}.blocks ADD COLUMN IF NOT EXISTS ${column} BIGINT`,
);

/** Blocks of version 1 whose totals one statement adds. Events of the chain wait for it. */
const COMPLETED_BLOCKS = 1000;

export function totalsRow({ transactions, size, weight, fees, supply, unspent }: BlockTotals): readonly number[] {
  return [transactions, size, weight, fees, supply, unspent];
}

/**
 * Returns the totals of the block of the active chain at a height; null where it or a block below it is not validated yet, as
 * behind a loaded UTXO set.
 */
export function totalsAt({ headers }: ChainReads, height: number): BlockTotals | null {
  const chain = headers.totals(height);
  if (chain === null) return null;
  // Whole pages are kept, so that a later call adds up a few blocks.
  headers.sumPages.readPages(1, height, () => {});
  const { connected, size, strippedSize, fees } = headers.sumPages.sums(0, height);
  if (connected < height + 1) return null;
  return {
    ...{ transactions: chain.txs, size: size!, weight: size! + strippedSize! * 3, fees: fees ?? 0 },
    ...{ supply: chain.circulating, unspent: chain.utxos },
  };
}

/** Totals that blocks of the database lack. */
export interface MissingTotals {
  /** The height of each block, and its totals in the order of `totalsRow`. */
  readonly rows: readonly (readonly number[])[];
  /** Blocks below this height have totals, once `rows` are written; null if all have. */
  readonly nextHeight: number | null;
  /** Whether more of them are known. The others are not in the active chain, or `reads` does not know their totals yet. */
  readonly hasNext: boolean;
}

/** Returns the totals of the lowest blocks from a height on that lack them. */
export async function missingTotals(
  sql: SQL | TransactionSQL,
  { reads, from }: { readonly reads: ChainReads; readonly from: number },
): Promise<MissingTotals> {
  const blocks: NamedBlock[] = await sql.unsafe(
    `SELECT height, encode(hash, 'hex') AS hash FROM ${SINK_SCHEMA}.blocks WHERE height >= $1 AND supply IS NULL
     ORDER BY height LIMIT ${COMPLETED_BLOCKS}`,
    [from],
  );
  if (blocks.length === 0) return { rows: [], nextHeight: null, hasNext: false };
  const rows: (readonly number[])[] = [];
  reads.snapshot(() => {
    for (const { height, hash } of blocks) {
      const totals = totalsOf(reads, height, hash);
      if (totals === null) return;
      rows.push([height, ...totalsRow(totals)]);
    }
  });
  const unknown = blocks[rows.length];
  return { rows, nextHeight: unknown?.height ?? blocks.at(-1)!.height + 1, hasNext: unknown === undefined };
}

export async function writeTotals(tx: TransactionSQL, rows: MissingTotals['rows']): Promise<void> {
  const columns = [0, ...TOTALS_COLUMNS.keys()].map((_, i) => `{${rows.map((row) => row[i]).join(',')}}`);
  await tx.unsafe(
    `UPDATE ${SINK_SCHEMA}.blocks AS b SET ${TOTALS_COLUMNS.map((column) => `${column} = t.${column}`).join(', ')}
     FROM unnest($1::INT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[])
       AS t (height, ${TOTALS_COLUMNS.join(', ')})
     WHERE b.height = t.height`,
    columns,
  );
}

function totalsOf(reads: ChainReads, height: number, hash: string): BlockTotals | null {
  const record = reads.headers.byHeight(height);
  return record && hashToHex(record.hash) === hash ? totalsAt(reads, height) : null;
}
