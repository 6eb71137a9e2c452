import { hash256 } from '../crypto/hash-functions.ts';
import { ByteReader, ByteWriter } from '../util/bytes.ts';
import type { BlockHash, MerkleRoot } from './hash.ts';

export const HEADER_SIZE = 80;

export interface BlockHeader {
  /** The version as a signed number, as Core compares it. */
  readonly version: number;
  readonly previousHash: BlockHash;
  readonly merkleRoot: MerkleRoot;
  readonly time: number;
  /** Compact form of the target. */
  readonly bits: number;
  readonly nonce: number;
}

export function decodeHeader(r: ByteReader): BlockHeader {
  return {
    version: r.i32(),
    previousHash: r.bytes(32) as BlockHash,
    merkleRoot: r.bytes(32) as MerkleRoot,
    time: r.u32(),
    bits: r.u32(),
    nonce: r.u32(),
  };
}

/** Decodes a header from the first 80 bytes. */
export function headerFromBytes(bytes: Uint8Array): BlockHeader {
  return decodeHeader(new ByteReader(bytes));
}

export function encodeHeader(w: ByteWriter, header: BlockHeader): void {
  w.u32(header.version >>> 0);
  w.bytes(header.previousHash);
  w.bytes(header.merkleRoot);
  w.u32(header.time);
  w.u32(header.bits);
  w.u32(header.nonce);
}

export function headerBytes(header: BlockHeader): Uint8Array {
  const w = new ByteWriter(HEADER_SIZE);
  encodeHeader(w, header);
  return w.finish();
}

export function headerHash(header: BlockHeader): BlockHash {
  return hash256(headerBytes(header)) as BlockHash;
}
