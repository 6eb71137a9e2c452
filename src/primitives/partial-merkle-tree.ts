import { hash256 } from '../crypto/hash-functions.ts';
import { concatBytes, equalBytes } from '../util/bytes.ts';
import type { MerkleRoot, Txid } from './hash.ts';
import { levelAbove } from './merkle.ts';

/** Bound on the transactions of a block (BIP-37): the maximum weight by the least weight of a transaction. */
const MAX_TRANSACTIONS = 4_000_000 / 240;

/** The part of a block's merkle tree that connects some of its transactions with the root (BIP-37). */
export interface PartialMerkleTree {
  /** Number of transactions in the block. */
  readonly transactionCount: number;
  readonly hashes: readonly Uint8Array[];
  /**
   * Flag bits, from the lowest bit of each byte on: for each visited node in depth-first order, whether a matched
   * transaction is below it.
   */
  readonly flags: Uint8Array;
}

/** The root and the transactions that a partial merkle tree proves. */
export interface ProvenTransactions {
  readonly root: MerkleRoot;
  /** The matched transactions in block order. */
  readonly matches: readonly { readonly txid: Txid; readonly index: number }[];
}

/**
 * Builds the partial merkle tree of a block. `txids`: of all its transactions, 32 bytes each. `isMatch`: which of them
 * are matched.
 */
export function partialMerkleTree(txids: Uint8Array, isMatch: (index: number) => boolean): PartialMerkleTree {
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
  const flags = new Uint8Array((bits.length + 7) >> 3);
  for (const [i, bit] of bits.entries()) flags[i >> 3]! |= bit << (i & 7);
  return { transactionCount: count, hashes, flags };
}

const NO_HASH = new Uint8Array(32);

/** Returns the root of a partial merkle tree and the transactions that it proves; null if it is malformed. */
export function provenTransactions({ transactionCount, hashes, flags }: PartialMerkleTree): ProvenTransactions | null {
  if (transactionCount === 0 || transactionCount > MAX_TRANSACTIONS) return null;
  if (hashes.length > transactionCount || flags.length * 8 < hashes.length) return null;
  const widths = [transactionCount];
  for (let width = transactionCount; width > 1; width = (width + 1) >> 1) widths.push((width + 1) >> 1);
  const matches: { txid: Txid; index: number }[] = [];
  let bitsUsed = 0;
  let hashesUsed = 0;
  let bad = false;
  const visit = (level: number, at: number): Uint8Array => {
    if (bad || bitsUsed >= flags.length * 8) return failed();
    const parentOfMatch = (flags[bitsUsed >> 3]! >> (bitsUsed & 7)) & 1;
    bitsUsed++;
    if (level === 0 || !parentOfMatch) {
      if (hashesUsed >= hashes.length) return failed();
      const hash = hashes[hashesUsed++]!;
      if (level === 0 && parentOfMatch) matches.push({ txid: hash as Txid, index: at });
      return hash;
    }
    const left = visit(level - 1, at * 2);
    if (at * 2 + 1 >= widths[level - 1]!) return hash256(concatBytes(left, left));
    const right = visit(level - 1, at * 2 + 1);
    // Two equal branches could prove transactions that are not in the block (CVE-2012-2459).
    if (equalBytes(left, right)) bad = true;
    return hash256(concatBytes(left, right));
  };
  const failed = () => {
    bad = true;
    return NO_HASH;
  };
  const root = visit(widths.length - 1, 0) as MerkleRoot;
  const allUsed = (bitsUsed + 7) >> 3 === flags.length && hashesUsed === hashes.length;
  return bad || !allUsed ? null : { root, matches };
}
