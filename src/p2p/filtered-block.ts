import type { ParsedBlock } from '../primitives/block.ts';
import { partialMerkleTree } from '../primitives/partial-merkle-tree.ts';
import type { BloomFilter } from './bloom-filter.ts';
import type { MerkleBlockMessage } from './messages/blocks.ts';

/** BIP-37: the message that describes a block to a light client, and the matching transactions sent after it. */
export interface FilteredBlock {
  readonly message: MerkleBlockMessage;
  /** Positions in the block of the matching transactions. */
  readonly matched: readonly number[];
}

/** Matches each transaction once and in block order, because matching may add outputs to the filter. */
export function filteredBlock({ header, txs, txids }: ParsedBlock, filter: BloomFilter): FilteredBlock {
  const matched = txs.flatMap((parsed, index) => (filter.matchAndUpdate(parsed) ? [index] : []));
  const chosen = new Set(matched);
  return { message: { header, ...partialMerkleTree(txids, (index) => chosen.has(index)) }, matched };
}
