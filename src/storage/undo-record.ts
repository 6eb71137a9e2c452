import { sha256 } from '../crypto/hash-functions.ts';
import { concatBytes, DecodeError, equalBytes } from '../util/bytes.ts';

/** Bytes of the checksum after the undo data of a block. */
export const UNDO_CHECKSUM_SIZE = 8;

/**
 * Appends the checksum to a block's undo data. Nothing else would detect a flipped bit before the data becomes coins
 * again.
 */
export function sealUndo(blockHash: Uint8Array, undo: Uint8Array): Uint8Array {
  return concatBytes(undo, checksum(blockHash, undo));
}

/** Returns the undo data of a stored record. Throws DecodeError if it is damaged or belongs to another block. */
export function openUndo(blockHash: Uint8Array, record: Uint8Array): Uint8Array {
  const end = record.length - UNDO_CHECKSUM_SIZE;
  const undo = record.subarray(0, Math.max(end, 0));
  if (end < 0 || !equalBytes(record.subarray(end), checksum(blockHash, undo)))
    throw new DecodeError(`the undo data of block ${blockHash.toReversed().toHex()} is damaged`);
  return undo;
}

function checksum(blockHash: Uint8Array, undo: Uint8Array): Uint8Array {
  return sha256(concatBytes(blockHash, sha256(undo))).subarray(0, UNDO_CHECKSUM_SIZE);
}
