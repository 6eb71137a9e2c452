import type { SQL, TransactionSQL } from 'bun';
import { hashToHex } from '../primitives/hash.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
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
export function addTotalsTo(schema: string): string[] {
  return TOTALS_COLUMNS.map((column) => `ALTER TABLE ${schema}.blocks ADD COLUMN IF NOT EXISTS ${column} BIGINT`);
}

/** Blocks of one statement that adds totals to rows of version 1. */
const COMPLETED_BLOCKS = 5000;

export function totalsRow({ transactions, size, weight, fees, supply, unspent }: BlockTotals): readonly number[] {
  return [transactions, size, weight, fees, supply, unspent];
}

/** Returns the totals of the block of the active chain at a height; null where the block is not validated yet. */
export function totalsAt({ headers }: ChainReads, height: number): BlockTotals | null {
  const chain = headers.totals(height);
  if (chain === null) return null;
  // Whole pages are kept, so that a later call adds up a few blocks.
  headers.sumPages.readPages(1, height, () => {});
  const { size, strippedSize, fees } = headers.sumPages.sums(0, height);
  return {
    ...{ transactions: chain.txs, size: size!, weight: size! + strippedSize! * 3, fees: fees ?? 0 },
    ...{ supply: chain.circulating, unspent: chain.utxos },
  };
}

/**
 * Adds the totals to blocks of version 1, in slices. Returns whether all have them; the others are not in the active chain,
 * or `reads` does not know their totals yet.
 */
export async function completeTotals(sql: SQL | TransactionSQL, schema: string, reads: ChainReads): Promise<boolean> {
  for (let from = 0; ; ) {
    const rows: NamedBlock[] = await sql.unsafe(
      `SELECT height, encode(hash, 'hex') AS hash FROM ${schema}.blocks WHERE height >= $1 AND supply IS NULL
       ORDER BY height LIMIT ${COMPLETED_BLOCKS}`,
      [from],
    );
    if (rows.length === 0) return from === 0;
    const found = reads.snapshot(() => rows.map(({ height, hash }) => totalsOf(reads, height, hash)));
    const known = rows.flatMap(({ height }, i) => (found[i] === null ? [] : [[height, ...totalsRow(found[i]!)]]));
    const columns = [0, ...TOTALS_COLUMNS.keys()].map((_, i) => `{${known.map((row) => row[i]).join(',')}}`);
    await sql.unsafe(
      `UPDATE ${schema}.blocks AS b SET ${TOTALS_COLUMNS.map((column) => `${column} = t.${column}`).join(', ')}
       FROM unnest($1::INT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[])
         AS t (height, ${TOTALS_COLUMNS.join(', ')})
       WHERE b.height = t.height`,
      columns,
    );
    if (known.length < rows.length) return false;
    from = rows.at(-1)!.height + 1;
  }
}

function totalsOf(reads: ChainReads, height: number, hash: string): BlockTotals | null {
  const record = reads.headers.byHeight(height);
  return record && hashToHex(record.hash) === hash ? totalsAt(reads, height) : null;
}
