import type { ParsedBlock } from '../primitives/block.ts';
import { merkleRoot } from '../primitives/merkle.ts';
import { equalBytes } from '../util/bytes.ts';
import { type BlockRejection, reject } from './rejection.ts';

/** Whether the transactions are those that the header commits to, and in a form that only one list has. */
export function checkMerkleRoot({ header, txids }: ParsedBlock): BlockRejection | null {
  const { root, mutated } = merkleRoot(txids);
  if (!equalBytes(root, header.merkleRoot)) return reject('mutated', 'bad-txnmrklroot', 'hashMerkleRoot mismatch');
  // CVE-2012-2459: repeating transactions at the end of the list may keep the root, and so the hash of a good block.
  if (mutated) return reject('mutated', 'bad-txns-duplicate', 'duplicate transaction');
  return null;
}
