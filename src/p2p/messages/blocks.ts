import { hash256 } from '../../crypto/hash-functions.ts';
import { type ParsedTransaction, readTransaction } from '../../primitives/block.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import { type BlockHeader, decodeHeader, encodeHeader, HEADER_SIZE } from '../../primitives/header.ts';
import { HASH_SIZE, messageCodec, readBytes, readHash, readList, writeBytes, writeList } from './codec.ts';

export interface BlockMessage {
  readonly hash: BlockHash;
  readonly header: BlockHeader;
  /**
   * The whole payload. Only the header is decoded here; the block is parsed by `parseLeadingBlock`, since Core accepts
   * trailing bytes.
   */
  readonly raw: Uint8Array;
}

export const block = messageCodec<Pick<BlockMessage, 'raw'>, BlockMessage>(
  'block',
  (w, { raw }) => w.bytes(raw),
  (r) => {
    const header = decodeHeader(r);
    return { hash: hash256(r.buf.subarray(0, HEADER_SIZE)) as BlockHash, header, raw: r.buf };
  },
);

export interface TxMessage {
  readonly tx: ParsedTransaction;
}

export const tx = messageCodec<{ readonly tx: Pick<ParsedTransaction, 'raw'> }, TxMessage>(
  'tx',
  (w, message) => w.bytes(message.tx.raw),
  (r) => ({ tx: readTransaction(r) }),
);

/** BIP-37: a header and a partial merkle tree that proves some transactions. */
export interface MerkleBlockMessage {
  readonly header: BlockHeader;
  readonly transactionCount: number;
  readonly hashes: readonly Uint8Array[];
  /** Flag bits, least significant bit of each byte first. */
  readonly flags: Uint8Array;
}

export const merkleblock = messageCodec<MerkleBlockMessage>(
  'merkleblock',
  (w, { header, transactionCount, hashes, flags }) => {
    encodeHeader(w, header);
    w.u32(transactionCount);
    writeList(w, hashes, (writer, hash) => writer.bytes(hash));
    writeBytes(w, flags, Number.POSITIVE_INFINITY);
  },
  (r) => {
    const header = decodeHeader(r);
    const transactionCount = r.u32();
    const hashes = readList(r, HASH_SIZE, readHash);
    return { header, transactionCount, hashes, flags: readBytes(r, r.remaining, 'flags') };
  },
);
