import { type ParsedBlock, transactionOf } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import { blockSigops } from './block-sigops.ts';
import { checkHeader } from './check-header.ts';
import { checkTransaction } from './check-transaction.ts';
import type { ConsensusParams } from './consensus-params.ts';
import { MAX_BLOCK_SIGOPS_COST, MAX_BLOCK_WEIGHT, WITNESS_SCALE_FACTOR } from './limits.ts';
import { checkMerkleRoot } from './merkle-check.ts';
import { isCoinbaseAt, isPlainTransaction } from './plain-transaction.ts';
import { type BlockRejection, reject } from './rejection.ts';
import { checkSignetSolution } from './signet-solution.ts';

/** Checks that a block template cannot pass before it is mined. */
export interface CheckBlockOptions {
  /** Checks the proof of work and the signet solution; true by default. */
  readonly proofOfWork?: boolean;
  /** Checks the merkle root; true by default. */
  readonly merkleRoot?: boolean;
}

/**
 * Checks a block without its context (Core's CheckBlock). No check depends on witnesses, which are not tied to the
 * block yet.
 */
export function checkBlock(
  block: ParsedBlock,
  params: ConsensusParams,
  { proofOfWork = true, merkleRoot = true }: CheckBlockOptions = {},
): BlockRejection | null {
  const { columns } = block;
  const { txCount } = columns;
  if (proofOfWork) {
    const badHeader = checkHeader({ hash: block.hash, bits: block.header.bits }, params);
    if (badHeader) return badHeader;
    if (params.signetChallenge && !checkSignetSolution(block, params))
      return reject('consensus', 'bad-signet-blksig', 'signet block signature validation failure');
  }
  // Checked before the transactions: otherwise the header would be marked invalid because a peer sent other
  // transactions with it.
  if (merkleRoot) {
    const mutated = checkMerkleRoot(block);
    if (mutated) return mutated;
  }
  if (
    txCount === 0 ||
    txCount * WITNESS_SCALE_FACTOR > MAX_BLOCK_WEIGHT ||
    block.strippedSize * WITNESS_SCALE_FACTOR > MAX_BLOCK_WEIGHT
  )
    return reject('consensus', 'bad-blk-length', 'size limits failed');

  if (!isCoinbaseAt(block, 0)) return reject('consensus', 'bad-cb-missing', 'first tx is not coinbase');
  for (let i = 1; i < txCount; i++)
    if (isCoinbaseAt(block, i)) return reject('consensus', 'bad-cb-multiple', 'more than one coinbase');

  for (let i = 0; i < txCount; i++) {
    if (isPlainTransaction(block, i)) continue;
    const { tx, txid, strippedSize } = transactionOf(block, i);
    const rejection = checkTransaction(tx, strippedSize);
    if (rejection) {
      const text = `Transaction check failed (tx hash ${hashToHex(txid)}) ${rejection.debug ?? ''}`;
      return reject('consensus', rejection.reason, text);
    }
  }

  // A lower bound: signature operations in redeem scripts and witnesses are counted when the coins are known.
  let sigops = 0;
  for (const count of blockSigops(block)) sigops += count;
  if (sigops * WITNESS_SCALE_FACTOR > MAX_BLOCK_SIGOPS_COST)
    return reject('consensus', 'bad-blk-sigops', 'out-of-bounds SigOpCount');
  return null;
}
