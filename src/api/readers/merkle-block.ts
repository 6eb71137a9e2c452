import { hash256 } from '../../crypto/hash.ts';
import { readCompactSize, readVarBytes, writeCompactSize, writeVarBytes } from '../../primitives/compact-size.ts';
import type { BlockHash, MerkleRoot, Txid } from '../../primitives/hash.ts';
import { HEADER_SIZE } from '../../primitives/header.ts';
import { levelAbove } from '../../primitives/merkle.ts';
import { ByteReader, ByteWriter, concatBytes, equalBytes } from '../../util/bytes.ts';

/** BIP-37: more transactions do not fit a block (its weight by the least weight of a transaction). */
const MAX_TRANSACTIONS = 4_000_000 / 240;

/** What a `merkleblock` proves, once its tree was checked against its header. */
export interface MerkleBlock {
  readonly hash: BlockHash;
  readonly txCount: number;
  /** In block order. */
  readonly matches: readonly Txid[];
}

/**
 * BIP-37's `merkleblock`: the header, and the part of the merkle tree that connects the matched transactions with its
 * root. `txids` of the whole block, 32 bytes each; `isMatch` says which of them are proven.
 */
export function encodeMerkleBlock(
  header: Uint8Array,
  txids: Uint8Array,
  isMatch: (index: number) => boolean,
): Uint8Array {
  const count = txids.length / 32;
  const levels = [txids];
  const matched = [Uint8Array.from({ length: count }, (_, i) => (isMatch(i) ? 1 : 0))];
  for (let width = count; width > 1; width = (width + 1) >> 1) {
    levels.push(levelAbove(levels.at(-1)!, width));
    const below = matched.at(-1)!;
    matched.push(Uint8Array.from({ length: (width + 1) >> 1 }, (_, i) => below[i * 2]! | (below[i * 2 + 1] ?? 0)));
  }
  const bits: number[] = [];
  const hashes: Uint8Array[] = [];
  const visit = (level: number, at: number) => {
    const parentOfMatch = matched[level]![at]!;
    bits.push(parentOfMatch);
    if (level === 0 || !parentOfMatch) {
      hashes.push(levels[level]!.subarray(at * 32, at * 32 + 32));
      return;
    }
    visit(level - 1, at * 2);
    if (at * 2 + 1 < matched[level - 1]!.length) visit(level - 1, at * 2 + 1);
  };
  visit(levels.length - 1, 0);

  const w = new ByteWriter(HEADER_SIZE + 16 + hashes.length * 32 + bits.length);
  w.bytes(header);
  w.u32(count);
  writeCompactSize(w, hashes.length);
  for (const hash of hashes) w.bytes(hash);
  const packed = new Uint8Array((bits.length + 7) >> 3);
  for (const [i, bit] of bits.entries()) packed[i >> 3]! |= bit << (i & 7);
  writeVarBytes(w, packed);
  return w.finish();
}

/**
 * Reads a `merkleblock`; bytes behind it are left alone, as Core does. Null where the tree is malformed or does not lead
 * to the header's root. Throws DecodeError on bytes that end early.
 */
export function readMerkleBlock(bytes: Uint8Array): MerkleBlock | null {
  const r = new ByteReader(bytes);
  const header = r.bytes(HEADER_SIZE);
  const txCount = r.u32();
  const hashCount = readCompactSize(r);
  const hashes = r.bytes(hashCount * 32);
  const bits = readVarBytes(r);
  if (txCount === 0 || txCount > MAX_TRANSACTIONS || hashCount > txCount || bits.length * 8 < hashCount) return null;

  const widths = [txCount];
  for (let width = txCount; width > 1; width = (width + 1) >> 1) widths.push((width + 1) >> 1);
  const matches: Txid[] = [];
  let bitsUsed = 0;
  let hashesUsed = 0;
  let bad = false;
  const visit = (level: number, at: number): Uint8Array => {
    if (bad || bitsUsed >= bits.length * 8) return failed();
    const parentOfMatch = (bits[bitsUsed >> 3]! >> (bitsUsed & 7)) & 1;
    bitsUsed++;
    if (level === 0 || !parentOfMatch) {
      if (hashesUsed >= hashCount) return failed();
      const hash = hashes.subarray(hashesUsed * 32, hashesUsed * 32 + 32);
      hashesUsed++;
      if (level === 0 && parentOfMatch) matches.push(hash as Txid);
      return hash;
    }
    const left = visit(level - 1, at * 2);
    if (at * 2 + 1 >= widths[level - 1]!) return hash256(concatBytes(left, left));
    const right = visit(level - 1, at * 2 + 1);
    // Two equal branches would let one proof show transactions that are not there (CVE-2012-2459).
    if (equalBytes(left, right)) bad = true;
    return hash256(concatBytes(left, right));
  };
  const failed = () => {
    bad = true;
    return hashes.subarray(0, 32);
  };
  const root = visit(widths.length - 1, 0) as MerkleRoot;
  const allUsed = (bitsUsed + 7) >> 3 === bits.length && hashesUsed === hashCount;
  if (bad || !allUsed || !equalBytes(root, header.subarray(36, 68))) return null;
  return { hash: hash256(header) as BlockHash, txCount, matches };
}
