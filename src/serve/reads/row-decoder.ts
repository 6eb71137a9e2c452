import { parseTransaction } from '../../primitives/block.ts';
import { type Coin, positionIndex, type TxPosition, txPosition } from '../../primitives/coin.ts';
import type { BlockHash, Txid } from '../../primitives/hash.ts';
import { HeaderStatus } from '../../storage/chain-schema.ts';
import type { AnswerRows, FetchedBlock } from './chain-rows.ts';

/** A row of a statement. Integers of 64 bits are text, and bytes are Buffers. */
export type Row = Readonly<Record<string, unknown>>;

/** Size of a record of a block and of a coin in memory, bytes. */
const BLOCK_BYTES = 800;
const COIN_BYTES = 150;

const number = (value: unknown): number => Number(value);
const bytes = (value: unknown): Uint8Array => value as Uint8Array;

/** Returns the block of the columns that begin with `b_`. */
export function blockOf(row: Row): FetchedBlock {
  const header = bytes(row.b_header);
  const size = number(row.b_size);
  const weight = number(row.b_weight);
  const height = number(row.b_height);
  const total = (name: string): number => number(row[`b_${name}`]);
  return {
    record: {
      id: idOf(bytes(row.b_hash)),
      hash: bytes(row.b_hash).toReversed() as BlockHash,
      header,
      height,
      chainwork: BigInt(`0x${bytes(row.b_chainwork).toHex()}`),
      status: HeaderStatus.HAVE_BLOCK | HeaderStatus.HAVE_UNDO | HeaderStatus.HAD_BLOCK | HeaderStatus.HAD_UNDO,
      // Each node received the block at another time.
      receivedAt: null,
      body: { file: 0, offset: 0, size },
      undo: height === 0 ? null : { file: 0, offset: 0, size: 0 },
      stats: {
        txCount: number(row.b_transactions),
        size,
        strippedSize: (weight - size) / 3,
        inputs: number(row.b_inputs),
        outputs: number(row.b_outputs),
        valueOut: number(row.b_output_value),
        reward: number(row.b_reward),
      },
      fees: number(row.b_fees),
    },
    medianTime: row.b_median_time === null ? null : number(row.b_median_time),
    sums:
      row.b_supply === null
        ? null
        : {
            ...{ txs: total('total_transactions'), size: total('total_size'), weight: total('total_weight') },
            ...{ fees: total('total_fees'), circulating: total('supply'), utxos: total('unspent') },
          },
  };
}

/** Returns a number that two blocks have in common by chance alone, once in 2^48. The hash ends in its random bytes. */
function idOf(hash: Uint8Array): number {
  return Buffer.from(hash.buffer, hash.byteOffset, hash.length).readUIntBE(26, 6);
}

/** Keeps the block of a row, which is in the active chain. */
export function keepBlock(rows: AnswerRows, row: Row): FetchedBlock {
  const block = blockOf(row);
  // A node is still writing the sums of this block, so other answers fetch it again.
  const keep = block.sums === null ? rows.setOwn.bind(rows) : rows.set.bind(rows);
  keep('block', block.record.height, block, BLOCK_BYTES);
  keep('hash', block.record.hash.toHex(), block, 0);
  return block;
}

/** Keeps a block that is not in the active chain. */
export function keepStale(rows: AnswerRows, row: Row): void {
  const block = blockOf(row);
  rows.set('hash', block.record.hash.toHex(), block, BLOCK_BYTES);
}

export function positionOfRow(row: Row): TxPosition {
  return txPosition(number(row.height), number(row.position));
}

/**
 * Keeps the transaction of a row of `WHOLE_TX`, and its block. Returns its position. `isByTxid`: whether the rows are all
 * transactions with a txid.
 */
export function keepTx(rows: AnswerRows, row: Row, { isByTxid }: { readonly isByTxid: boolean }): TxPosition {
  const position = positionOfRow(row);
  keepBlock(rows, row);
  const parsed = parseTransaction(bytes(row.raw));
  const spent = spentCoins(row);
  const size = spent.reduce((sum, { output }) => sum + output.scriptPubKey.length + COIN_BYTES, 3 * parsed.raw.length);
  rows.set('tx', position, { parsed, spent }, size);
  rows.set('place', position, { txid: parsed.txid, size: parsed.raw.length }, 0);
  rows.set('spent', position, new Set(Array.from((row.spent_outputs ?? []) as unknown[], number)), 0);
  // Another coinbase, of a later block, may have the same txid (BIP-30).
  if (isByTxid || positionIndex(position) > 0) keepPosition(rows, parsed.txid, position);
  return position;
}

/** Keeps the position of a transaction; the latest one where a txid is in the chain twice (BIP-30). */
export function keepPosition(rows: AnswerRows, txid: Txid, position: TxPosition): void {
  const key = txid.toHex();
  const known = rows.get('position', key);
  if (known === undefined || known === null || known < position) rows.set('position', key, position, 0);
}

/** Keeps the txid and the size of the transaction of a row. */
export function keepPlace(rows: AnswerRows, row: Row): TxPosition {
  const position = positionOfRow(row);
  const txid = bytes(row.txid).toReversed() as Txid;
  rows.set('place', position, { txid, size: number(row.size) }, 32);
  return position;
}

function spentCoins(row: Row): Coin[] {
  const heights = (row.spent_heights ?? []) as readonly unknown[];
  const [positions, values, scripts] = [row.spent_positions, row.spent_values, row.spent_scripts] as unknown[][];
  return Array.from(heights, (height, i) => ({
    position: txPosition(number(height), number(positions![i])),
    output: { value: BigInt(values![i] as string), scriptPubKey: bytes(scripts![i]) },
  }));
}
