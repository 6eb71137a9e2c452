import { type ParsedBlock, transactionOf, weightOf } from '../primitives/block.ts';
import { pushNumber } from '../script/script-builder.ts';
import type { ConsensusParams } from './consensus-params.ts';
import { type HeaderEntry, medianTimePast } from './header-entry.ts';
import { MAX_BLOCK_WEIGHT } from './limits.ts';
import { isFinalTxAt } from './locktime.ts';
import { checkMerkleRoot } from './merkle-check.ts';
import { isCoinbaseAt } from './plain-transaction.ts';
import { type BlockRejection, reject } from './rejection.ts';
import { checkWitnessMalleation } from './witness-commitment.ts';

/**
 * Checks a block as a child of `parent`, without its coins (Core's ContextualCheckBlock). The block has passed
 * `checkBlock`.
 */
export function checkBlockContext(
  block: ParsedBlock,
  parent: HeaderEntry,
  params: ConsensusParams,
): BlockRejection | null {
  const height = parent.height + 1;

  // BIP-113: a miner can choose the time of its own block, but not the median time of the blocks before it.
  const lockTime = height >= params.csvHeight ? medianTimePast(parent) : block.header.time;
  for (let i = 0; i < block.columns.txCount; i++)
    if (!isFinalTxAt(block, i, height, lockTime))
      return reject('consensus', 'bad-txns-nonfinal', 'non-final transaction');

  if (height >= params.bip34Height) {
    // BIP-34, the only rule that makes coinbases unique.
    const expected = pushNumber(height);
    const { scriptSig } = transactionOf(block, 0).tx.inputs[0]!;
    if (scriptSig.length < expected.length || expected.some((byte, i) => scriptSig[i] !== byte))
      return reject('consensus', 'bad-cb-height', 'block height mismatch in coinbase');
  }

  const malleated = checkWitnessMalleation(block, height >= params.segwitHeight);
  if (malleated) return malleated;

  // After the witness commitment is checked: before, a peer could have added witness data to the coinbase.
  if (weightOf(block) > MAX_BLOCK_WEIGHT)
    return reject('consensus', 'bad-blk-weight', 'ContextualCheckBlock : weight limit failed');
  return null;
}

/**
 * Whether the data of a block may differ from what its header commits to, so that no fault of it makes the header
 * invalid (Core's IsBlockMutated). `checkWitnessRoot`: whether BIP-141 is active for the block.
 */
export function isBlockMutated(block: ParsedBlock, checkWitnessRoot: boolean): boolean {
  if (checkMerkleRoot(block)) return true;
  // A transaction of 64 bytes can pass for an inner node of the merkle tree. A coinbase of that kind would cost 2^224
  // hashes.
  if (block.columns.txCount === 0 || !isCoinbaseAt(block, 0))
    return block.txs.some(({ strippedSize }) => strippedSize === 64);
  return checkWitnessMalleation(block, checkWitnessRoot) !== null;
}
