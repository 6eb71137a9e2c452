import { type ParsedTransaction, readTransaction } from '../../primitives/block.ts';
import { readCompactSize, writeCompactSize } from '../../primitives/compact-size.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import { type BlockHeader, decodeHeader, encodeHeader } from '../../primitives/header.ts';
import { type ByteReader, type ByteWriter, DecodeError } from '../../util/bytes.ts';
import { messageCodec, readHash, readList, writeList } from './codec.ts';

const MAX_INDEX = 0xffff;
const SHORT_ID_SIZE = 6;
/** Size of a transaction with a version, two empty lists and a locktime. */
const LEAST_TX_SIZE = 10;

/** A transaction to be sent, for which its bytes are enough. */
export type RawTransaction = Pick<ParsedTransaction, 'raw'>;

interface PrefilledTransaction<T = ParsedTransaction> {
  /** BIP-152 differential index: distance from the position after the previous prefilled transaction. */
  readonly gap: number;
  readonly tx: T;
}

/** BIP-152. */
export interface CompactBlock<T = ParsedTransaction> {
  readonly header: BlockHeader;
  readonly nonce: bigint;
  /** 48-bit short transaction ids in block order, without the prefilled transactions. */
  readonly shortIds: readonly number[];
  readonly prefilled: readonly PrefilledTransaction<T>[];
}

export const cmpctblock = messageCodec<CompactBlock<RawTransaction>, CompactBlock>(
  'cmpctblock',
  (w, { header, nonce, shortIds, prefilled }) => {
    encodeHeader(w, header);
    w.u64(nonce);
    writeList(w, shortIds, (writer, id) => {
      writer.u32(id % 0x1_0000_0000);
      writer.u16(Math.floor(id / 0x1_0000_0000));
    });
    writeList(w, prefilled, (writer, { gap, tx }) => {
      writeCompactSize(writer, gap);
      writer.bytes(tx.raw);
    });
  },
  (r) => {
    const header = decodeHeader(r);
    const nonce = r.u64();
    const shortIds = readList(r, SHORT_ID_SIZE, (reader) => {
      const low = reader.u32();
      return low + reader.u16() * 0x1_0000_0000;
    });
    const prefilled = readList(r, 1 + LEAST_TX_SIZE, (reader) => ({
      gap: readIndex(reader),
      tx: readTransaction(reader),
    }));
    if (shortIds.length + prefilled.length > MAX_INDEX) throw new DecodeError('indexes overflowed 16 bits');
    return { header, nonce, shortIds, prefilled };
  },
);

function readIndex(r: ByteReader): number {
  const index = readCompactSize(r);
  if (index > MAX_INDEX) throw new DecodeError('index exceeds 16 bits');
  return index;
}

export interface GetBlockTxnMessage {
  readonly blockHash: BlockHash;
  /** Positions of the transactions in the block, ascending. */
  readonly indexes: readonly number[];
}

export const getblocktxn = messageCodec<GetBlockTxnMessage>(
  'getblocktxn',
  (w, { blockHash, indexes }) => {
    w.bytes(blockHash);
    writeCompactSize(w, indexes.length);
    let next = 0;
    for (const index of indexes) {
      writeCompactSize(w, index - next);
      next = index + 1;
    }
  },
  (r) => {
    const blockHash = readHash(r) as BlockHash;
    let next = 0;
    const indexes = readList(r, 1, (reader) => {
      const index = next + readCompactSize(reader);
      if (index > MAX_INDEX) throw new DecodeError('differential value overflow');
      next = index + 1;
      return index;
    });
    return { blockHash, indexes };
  },
);

export interface BlockTxnMessage<T = ParsedTransaction> {
  readonly blockHash: BlockHash;
  readonly txs: readonly T[];
}

export const blocktxn = messageCodec<BlockTxnMessage<RawTransaction>, BlockTxnMessage>(
  'blocktxn',
  (w: ByteWriter, { blockHash, txs }) => {
    w.bytes(blockHash);
    writeList(w, txs, (writer, tx) => writer.bytes(tx.raw));
  },
  (r) => {
    const blockHash = readHash(r) as BlockHash;
    return { blockHash, txs: readList(r, LEAST_TX_SIZE, readTransaction) };
  },
);
