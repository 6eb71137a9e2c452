import { hash256, hash256Range } from '../crypto/hash-functions.ts';
import { ByteReader, type ByteWriter, DecodeError } from '../util/bytes.ts';
import { type BlockColumns, blockColumns } from './block-columns.ts';
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
  /** Where the parts of the block lie in `raw`. */
  readonly columns: BlockColumns;
  /** Decoded when first read. */
  readonly txs: readonly ParsedTransaction[];
  /** The concatenated txids in block order, 32 bytes each. */
  readonly txids: Uint8Array;
  /** Likewise the wtxids; that of the coinbase is zero, as in the witness merkle tree. */
  readonly wtxids: Uint8Array;
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
  const header = decodeHeader(new ByteReader(bytes));
  const columns = blockColumns(bytes);
  if (columns === null) throw decodeErrorOf(bytes);
  const raw = bytes.subarray(0, columns.txAt[columns.txCount]!);
  return new ColumnBlock(header, raw, columns, hashTransactions(raw, columns));
}

/** Returns the error of a block that cannot be decoded. */
function decodeErrorOf(bytes: Uint8Array): DecodeError {
  const r = new ByteReader(bytes, HEADER_SIZE);
  try {
    const count = readCompactSize(r);
    // A transaction has at least 10 bytes, so a greater count cannot be valid.
    if (count <= r.remaining / 10) for (let i = 0; i < count; i++) decodeTransactionWithLayout(r);
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
  return new DecodeError('unexpected end of data');
}

/** Ids and sizes of the transactions of a block. */
interface TransactionHashes {
  readonly txids: Uint8Array;
  readonly wtxids: Uint8Array;
  readonly strippedSize: number;
}

function hashTransactions(raw: Uint8Array, { txCount, txAt, bodyAt, witnessAt }: BlockColumns): TransactionHashes {
  const txids = new Uint8Array(txCount * 32);
  const wtxids = new Uint8Array(txCount * 32);
  let strippedSize = HEADER_SIZE + compactSizeLength(txCount);
  for (let i = 0; i < txCount; i++) {
    const layout = { start: txAt[i]!, body: bodyAt[i]!, witness: witnessAt[i]!, end: txAt[i + 1]! };
    const size = strippedSizeOf(layout);
    strippedSize += size;
    if (size === layout.end - layout.start) hash256Range(raw, layout.start, layout.end, txids, i * 32);
    else hash256Range(strippedBytes(raw, layout, size), 0, size, txids, i * 32);
    if (i === 0) continue;
    if (size === layout.end - layout.start) for (let k = i * 32; k < i * 32 + 32; k++) wtxids[k] = txids[k]!;
    else hash256Range(raw, layout.start, layout.end, wtxids, i * 32);
  }
  return { txids, wtxids, strippedSize };
}

/** A block whose transactions become objects when they are first read. */
class ColumnBlock implements ParsedBlock {
  readonly hash: BlockHash;
  readonly header: BlockHeader;
  readonly raw: Uint8Array;
  readonly columns: BlockColumns;
  readonly txids: Uint8Array;
  readonly wtxids: Uint8Array;
  readonly strippedSize: number;
  #txs: readonly ParsedTransaction[] | null = null;

  constructor(header: BlockHeader, raw: Uint8Array, columns: BlockColumns, hashes: TransactionHashes) {
    this.hash = hash256(raw.subarray(0, HEADER_SIZE)) as BlockHash;
    this.header = header;
    this.raw = raw;
    this.columns = columns;
    this.txids = hashes.txids;
    this.wtxids = hashes.wtxids;
    this.strippedSize = hashes.strippedSize;
  }

  get txs(): readonly ParsedTransaction[] {
    this.#txs ??= Array.from({ length: this.columns.txCount }, (_, i) => transactionOf(this, i));
    return this.#txs;
  }
}

/** Decodes one transaction of a block. */
export function transactionOf({ raw, columns, txids, wtxids }: Omit<ParsedBlock, 'txs'>, i: number): ParsedTransaction {
  const { tx, layout } = decodeTransactionWithLayout(new ByteReader(raw, columns.txAt[i]!));
  const bytes = raw.subarray(layout.start, layout.end);
  const strippedSize = strippedSizeOf(layout);
  const txid = txids.subarray(i * 32, i * 32 + 32) as Txid;
  const wtxid =
    strippedSize === bytes.length
      ? (txid as Uint8Array as Wtxid)
      : ((i === 0 ? hash256(bytes) : wtxids.subarray(i * 32, i * 32 + 32)) as Wtxid);
  return { tx, txid, wtxid, raw: bytes, offset: layout.start, strippedSize };
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

/** Scratch space of one call. */
let scratch: Uint8Array = new Uint8Array(4096);
/** Up to this many bytes are copied in a loop, since a view costs more. */
const SHORT_COPY = 1024;

function strippedSizeOf({ start, body, witness, end }: TxLayout): number {
  return body === start + 4 ? end - start : 4 + (witness - body) + 4;
}

/** Returns a buffer that begins with the encoding without witness, of `size` bytes; valid until the next call. */
function strippedBytes(bytes: Uint8Array, { start, body, witness, end }: TxLayout, size: number): Uint8Array {
  if (scratch.length < size) scratch = new Uint8Array(size * 2);
  let at = 0;
  for (let i = start; i < start + 4; i++) scratch[at++] = bytes[i]!;
  if (size > SHORT_COPY) {
    scratch.set(bytes.subarray(body, witness), at);
    at += witness - body;
  } else for (let i = body; i < witness; i++) scratch[at++] = bytes[i]!;
  for (let i = end - 4; i < end; i++) scratch[at++] = bytes[i]!;
  return scratch;
}

function parsedTransaction(bytes: Uint8Array, tx: Transaction, layout: TxLayout, idOut: Uint8Array): ParsedTransaction {
  const { start, end } = layout;
  const raw = bytes.subarray(start, end);
  const strippedSize = strippedSizeOf(layout);
  const stripped =
    strippedSize === raw.length ? raw : strippedBytes(bytes, layout, strippedSize).subarray(0, strippedSize);
  const txid = hash256(stripped, idOut) as Txid;
  const wtxid = strippedSize === raw.length ? (txid as Uint8Array as Wtxid) : (hash256(raw) as Wtxid);
  return { tx, txid, wtxid, raw, offset: start, strippedSize };
}

export function encodeBlock(w: ByteWriter, { header, transactions }: Block): void {
  encodeHeader(w, header);
  writeVector(w, transactions, (writer, tx) => encodeTransaction(writer, tx, { witness: true }));
}
