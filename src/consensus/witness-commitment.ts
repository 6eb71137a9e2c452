import { hash256 } from '../crypto/hash-functions.ts';
import { type ParsedBlock, transactionOf } from '../primitives/block.ts';
import type { MerkleRoot, Wtxid } from '../primitives/hash.ts';
import { merkleRoot } from '../primitives/merkle.ts';
import type { Transaction } from '../primitives/transaction.ts';
import { concatBytes, equalBytes } from '../util/bytes.ts';
import { type BlockRejection, reject } from './rejection.ts';

/** BIP-141: OP_RETURN, a push of 36 bytes and the commitment header. The commitment hash follows. */
const PREFIX = Uint8Array.of(0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed);
const COMMITMENT_SCRIPT_SIZE = PREFIX.length + 32;

/** Returns the index of the coinbase output with the witness commitment, the last one with its form, or -1. */
export function witnessCommitmentIndex({ outputs }: Transaction): number {
  for (let i = outputs.length - 1; i >= 0; i--) {
    const { scriptPubKey } = outputs[i]!;
    if (scriptPubKey.length >= COMMITMENT_SCRIPT_SIZE && equalBytes(scriptPubKey.subarray(0, PREFIX.length), PREFIX))
      return i;
  }
  return -1;
}

/**
 * Returns the witness root hash: the merkle root of the wtxids, with zero for the coinbase, which cannot commit to
 * itself.
 */
export function witnessMerkleRoot(wtxids: readonly Wtxid[]): MerkleRoot {
  const hashes = new Uint8Array(wtxids.length * 32);
  for (let i = 1; i < wtxids.length; i++) hashes.set(wtxids[i]!, i * 32);
  return merkleRoot(hashes).root;
}

/** Returns the commitment hash: of the witness root hash and the witness reserved value. */
export function witnessCommitment(root: MerkleRoot, reservedValue: Uint8Array): Uint8Array {
  return hash256(concatBytes(root, reservedValue));
}

/** Returns the scriptPubKey of a commitment. */
export function witnessCommitmentScript(commitment: Uint8Array): Uint8Array {
  return concatBytes(PREFIX, commitment);
}

/**
 * Checks the witnesses against the commitment of the block. Without a commitment no transaction may have a witness,
 * since nothing would tie it to the block hash. A block with a commitment has a coinbase.
 */
export function checkWitnessMalleation(block: ParsedBlock, expectCommitment: boolean): BlockRejection | null {
  const coinbase = block.columns.txCount > 0 ? transactionOf(block, 0).tx : null;
  const index = expectCommitment && coinbase ? witnessCommitmentIndex(coinbase) : -1;
  if (index >= 0) {
    const witness = coinbase!.inputs[0]!.witness;
    const reservedValue = witness[0];
    if (witness.length !== 1 || reservedValue?.length !== 32)
      return reject(
        'mutated',
        'bad-witness-nonce-size',
        'CheckWitnessMalleation : invalid witness reserved value size',
      );
    const { root } = merkleRoot(block.wtxids);
    const committed = coinbase!.outputs[index]!.scriptPubKey.subarray(PREFIX.length, COMMITMENT_SCRIPT_SIZE);
    if (!equalBytes(witnessCommitment(root, reservedValue), committed))
      return reject(
        'mutated',
        'bad-witness-merkle-match',
        'CheckWitnessMalleation : witness merkle commitment mismatch',
      );
    return null;
  }
  if (block.strippedSize !== block.raw.length)
    return reject('mutated', 'unexpected-witness', 'CheckWitnessMalleation : unexpected witness data found');
  return null;
}
