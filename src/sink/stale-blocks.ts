import type { TransactionSQL } from 'bun';
import { txPosition } from '../primitives/coin.ts';
import { writeCompactSize } from '../primitives/compact-size.ts';
import { writeUndoRecord } from '../primitives/undo.ts';
import { ByteWriter } from '../util/bytes.ts';
import { SINK_SCHEMA } from './schema-name.ts';

const COLUMNS = [
  ...['hash', 'height', 'header', 'chainwork', 'transactions', 'inputs', 'outputs', 'size', 'weight'],
  ...['output_value', 'fees', 'reward'],
].join(', ');

/**
 * Blocks that have left the active chain, which clients may still name: a cursor that ends at one leads to the fork. `raw`
 * is the whole block, and `undo` has the outputs that it spent, as a node stores them.
 */
export const CREATE_STALE_BLOCKS = `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.stale_blocks (
    hash BYTEA PRIMARY KEY,
    height INT NOT NULL,
    header BYTEA NOT NULL,
    chainwork BYTEA NOT NULL,
    transactions INT NOT NULL,
    inputs INT NOT NULL,
    outputs INT NOT NULL,
    size INT NOT NULL,
    weight INT NOT NULL,
    output_value BIGINT NOT NULL,
    fees BIGINT NOT NULL,
    reward BIGINT NOT NULL,
    raw BYTEA NOT NULL,
    undo BYTEA NOT NULL
  )`;

/** Bytes of a compact size. */
const MAX_COUNT_BYTES = 9;

interface SpentRow {
  readonly prev_height: number;
  readonly prev_position: number;
  readonly value: string;
  readonly script: Uint8Array;
}

/** Keeps a block whose rows are about to be removed. */
export async function keepStaleBlock(tx: TransactionSQL, height: number): Promise<void> {
  const [{ header }] = await tx.unsafe(`SELECT header FROM ${SINK_SCHEMA}.blocks WHERE height = $1`, [height]);
  const raws: { raw: Uint8Array }[] = await tx.unsafe(
    `SELECT raw FROM ${SINK_SCHEMA}.transactions WHERE height = $1 ORDER BY position`,
    [height],
  );
  // A repeated coinbase counts as the spender of the lost one (BIP-30), and has no undo data.
  const spent: SpentRow[] = await tx.unsafe(
    `SELECT i.prev_height, i.prev_position, i.value, o.script FROM ${SINK_SCHEMA}.inputs i
     JOIN ${SINK_SCHEMA}.outputs o ON (o.height, o.position, o.vout) = (i.prev_height, i.prev_position, i.prev_vout)
     WHERE i.height = $1 AND i.position > 0 ORDER BY i.position, i.vin`,
    [height],
  );
  const raw = rawBlockOf(header, raws.length, Buffer.concat(raws.map((each) => each.raw)));
  await tx.unsafe(
    `INSERT INTO ${SINK_SCHEMA}.stale_blocks (${COLUMNS}, raw, undo) SELECT ${COLUMNS}, $2, $3 FROM ${SINK_SCHEMA}.blocks
     WHERE height = $1 ON CONFLICT (hash) DO NOTHING`,
    [height, raw, undoOf(spent)],
  );
}

/** Returns the encoding of a block. `txs` are the encodings of its transactions, one behind the other. */
export function rawBlockOf(header: Uint8Array, txCount: number, txs: Uint8Array): Uint8Array {
  const w = new ByteWriter(header.length + txs.length + MAX_COUNT_BYTES);
  w.bytes(header);
  writeCompactSize(w, txCount);
  w.bytes(txs);
  return w.finish();
}

/** Returns the undo data of spent outputs in input order. */
function undoOf(spent: readonly SpentRow[]): Uint8Array {
  const w = new ByteWriter();
  for (const { prev_height, prev_position, value, script } of spent)
    writeUndoRecord(w, txPosition(prev_height, prev_position), BigInt(value), script);
  return w.finish();
}
