import { hash256 } from '../crypto/hash-functions.ts';
import { ByteReader, type ByteWriter, DecodeError } from '../util/bytes.ts';
import { compactSizeLength, readCompactSize, writeVector } from './compact-size.ts';
import type { BlockHash, Txid, Wtxid } from './hash.ts';
import { type BlockHeader, decodeHeader, encodeHeader, HEADER_SIZE } from './header.ts';
import { decodeTransactionWithLayout, encodeTransaction, type Transaction, type TxLayout } from './transaction.ts';

export interface Block {
  readonly header: BlockHeader;
  readonly transactions: readonly Transaction[];
}

/** A transaction with what follows from its encoding: ids, sizes and its offset in the block. */
export interface ParsedTransaction {
  readonly tx: Transaction;
  readonly txid: Txid;
  readonly wtxid: Wtxid;
  /** The encoding with witness, a view into the block. */
  readonly raw: Uint8Array;
  /** Offset of `raw` in the block, bytes. */
  readonly offset: number;
  /** Size of the encoding without witness, bytes. */
  readonly strippedSize: number;
}

/** A decoded block with its encoding and what is derived from it once. */
export interface ParsedBlock {
  readonly hash: BlockHash;
  readonly header: BlockHeader;
  readonly raw: Uint8Array;
  readonly txs: readonly ParsedTransaction[];
  /** The concatenated txids in block order, 32 bytes each. */
  readonly txids: Uint8Array;
  readonly strippedSize: number;
}

/** Returns the weight (BIP-141): three times the size without witness plus the size with it. */
export function weightOf({ strippedSize, raw }: { strippedSize: number; raw: Uint8Array }): number {
  return strippedSize * 3 + raw.length;
}

/** Parses bytes that hold exactly one block; the result refers to views into `raw`. Throws DecodeError. */
export function parseBlock(raw: Uint8Array): ParsedBlock {
  const block = parseLeadingBlock(raw);
  if (block.raw.length < raw.length) throw new DecodeError('bytes after the block');
  return block;
}

/** Parses the block at the beginning of the bytes and ignores the rest. Throws DecodeError. */
export function parseLeadingBlock(bytes: Uint8Array): ParsedBlock {
  const r = new ByteReader(bytes);
  const header = decodeHeader(r);
  const hash = hash256(bytes.subarray(0, HEADER_SIZE)) as BlockHash;
  const count = readCompactSize(r);
  // A transaction has at least 10 bytes, so a greater count cannot be valid.
  if (count > r.remaining / 10) throw new DecodeError('unexpected end of data');
  const txids = new Uint8Array(count * 32);
  const txs: ParsedTransaction[] = [];
  let strippedSize = HEADER_SIZE + compactSizeLength(count);
  for (let i = 0; i < count; i++) {
    const { tx, layout } = decodeTransactionWithLayout(r);
    const parsed = parsedTransaction(bytes, tx, layout, txids.subarray(i * 32, i * 32 + 32));
    strippedSize += parsed.strippedSize;
    txs.push(parsed);
  }
  return { hash, header, raw: bytes.subarray(0, r.pos), txs, txids, strippedSize };
}

/** Parses bytes that hold exactly one transaction. Throws DecodeError. */
export function parseTransaction(raw: Uint8Array): ParsedTransaction {
  const r = new ByteReader(raw);
  const parsed = readTransaction(r);
  if (r.remaining > 0) throw new DecodeError('bytes after the transaction');
  return parsed;
}

/**
 * Parses the next transaction. Its `raw` is a view into the reader's buffer, and `offset` counts from the buffer's
 * start.
 */
export function readTransaction(r: ByteReader): ParsedTransaction {
  const { tx, layout } = decodeTransactionWithLayout(r);
  return parsedTransaction(r.buf, tx, layout, new Uint8Array(32));
}

let scratch: Uint8Array = new Uint8Array(4096);

function parsedTransaction(bytes: Uint8Array, tx: Transaction, layout: TxLayout, idOut: Uint8Array): ParsedTransaction {
  const { start, body, witness, end } = layout;
  const raw = bytes.subarray(start, end);
  if (body === start + 4) {
    const txid = hash256(raw, idOut) as Txid;
    return { tx, txid, wtxid: txid as Uint8Array as Wtxid, raw, offset: start, strippedSize: end - start };
  }
  const strippedSize = 4 + (witness - body) + 4;
  if (scratch.length < strippedSize) scratch = new Uint8Array(strippedSize * 2);
  scratch.set(bytes.subarray(start, start + 4));
  scratch.set(bytes.subarray(body, witness), 4);
  scratch.set(bytes.subarray(end - 4, end), strippedSize - 4);
  const txid = hash256(scratch.subarray(0, strippedSize), idOut) as Txid;
  return { tx, txid, wtxid: hash256(raw) as Wtxid, raw, offset: start, strippedSize };
}

export function encodeBlock(w: ByteWriter, { header, transactions }: Block): void {
  encodeHeader(w, header);
  writeVector(w, transactions, (writer, tx) => encodeTransaction(writer, tx, { witness: true }));
}
