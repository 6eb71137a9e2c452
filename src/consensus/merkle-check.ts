import type { ParsedBlock } from '../primitives/block.ts';
import { merkleRoot } from '../primitives/merkle.ts';
import { equalBytes } from '../util/bytes.ts';
import { type BlockRejection, reject } from './rejection.ts';

/** Checks the transactions against the merkle root of the header, and for the ambiguity of CVE-2012-2459. */
export function checkMerkleRoot({ header, txids }: ParsedBlock): BlockRejection | null {
  const { root, mutated } = merkleRoot(txids);
  if (!equalBytes(root, header.merkleRoot)) return reject('mutated', 'bad-txnmrklroot', 'hashMerkleRoot mismatch');
  // CVE-2012-2459: repeating transactions at the end of the list may keep the root, and so the hash of a valid block.
  if (mutated) return reject('mutated', 'bad-txns-duplicate', 'duplicate transaction');
  return null;
}
