import type { ParsedBlock } from '../primitives/block.ts';
import type { Txid } from '../primitives/hash.ts';
import { partialMerkleTree, provenTransactions } from '../primitives/partial-merkle-tree.ts';
import { equalBytes } from '../util/bytes.ts';
import type { BloomFilter } from './bloom-filter.ts';
import type { MerkleBlockMessage } from './messages/blocks.ts';

/** BIP-37: what a light client is sent of a block, and behind it the transactions themselves. */
export interface FilteredBlock {
  readonly message: MerkleBlockMessage;
  /** Places in the block of what the filter wants. */
  readonly matched: readonly number[];
}

/** The filter may take in outputs of what it wants, so it is asked for each transaction once, in block order. */
export function filteredBlock({ header, txs, txids }: ParsedBlock, filter: BloomFilter): FilteredBlock {
  const matched = txs.flatMap((parsed, index) => (filter.matchAndUpdate(parsed) ? [index] : []));
  const chosen = new Set(matched);
  return { message: { header, ...partialMerkleTree(txids, (index) => chosen.has(index)) }, matched };
}

/** The transactions that a merkle block proves to be in its block; null where it proves nothing. */
export function matchesOf({ header, ...tree }: MerkleBlockMessage): { txid: Txid; index: number }[] | null {
  const proven = provenTransactions(tree);
  return proven && equalBytes(proven.root, header.merkleRoot) ? [...proven.matches] : null;
}
