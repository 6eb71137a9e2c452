import { hash256 } from '../crypto/hash-functions.ts';
import { readCompactSize, readVarBytes, writeCompactSize, writeVarBytes } from '../primitives/compact-size.ts';
import type { BlockHash, Txid } from '../primitives/hash.ts';
import { HEADER_SIZE } from '../primitives/header.ts';
import { partialMerkleTree, provenTransactions } from '../primitives/partial-merkle-tree.ts';
import { ByteReader, ByteWriter, equalBytes } from '../util/bytes.ts';

/** The content of a `merkleblock` whose tree leads to the merkle root of its header. */
export interface MerkleBlock {
  readonly hash: BlockHash;
  readonly txCount: number;
  /** In block order. */
  readonly matches: readonly Txid[];
  /** Their indexes in the block. */
  readonly positions: readonly number[];
}

/**
 * Encodes BIP-37's `merkleblock`: the header, and the part of the merkle tree that connects the matched transactions to
 * its root. `txids` are those of the whole block, 32 bytes each; `isMatch` selects the proven ones.
 */
export function encodeMerkleBlock(
  header: Uint8Array,
  txids: Uint8Array,
  isMatch: (index: number) => boolean,
): Uint8Array {
  const { transactionCount, hashes, flags } = partialMerkleTree(txids, isMatch);
  const w = new ByteWriter(HEADER_SIZE + 16 + hashes.length * 32 + flags.length);
  w.bytes(header);
  w.u32(transactionCount);
  writeCompactSize(w, hashes.length);
  for (const hash of hashes) w.bytes(hash);
  writeVarBytes(w, flags);
  return w.finish();
}

/**
 * Reads a `merkleblock` and ignores trailing bytes, as Core does. Returns null where the tree is malformed or does not
 * lead to the merkle root. Throws DecodeError for truncated bytes.
 */
export function readMerkleBlock(bytes: Uint8Array): MerkleBlock | null {
  const r = new ByteReader(bytes);
  const header = r.bytes(HEADER_SIZE);
  const transactionCount = r.u32();
  const packed = r.bytes(readCompactSize(r) * 32);
  const flags = readVarBytes(r);
  const hashes: Uint8Array[] = [];
  for (let at = 0; at < packed.length; at += 32) hashes.push(packed.subarray(at, at + 32));
  const proven = provenTransactions({ transactionCount, hashes, flags });
  if (!proven || !equalBytes(proven.root, header.subarray(36, 68))) return null;
  const matches = proven.matches.map(({ txid }) => txid);
  const positions = proven.matches.map(({ index }) => index);
  return { hash: hash256(header) as BlockHash, txCount: transactionCount, matches, positions };
}
