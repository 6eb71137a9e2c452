import { sha256 } from '../crypto/hash.ts';
import { concatBytes, DecodeError, equalBytes } from '../util/bytes.ts';

/** Bytes behind the undo data of a block in its record. */
export const UNDO_CHECKSUM_SIZE = 8;

/** A block's undo data as it is stored: nothing else would show that a bit of it rotted before it becomes coins again. */
export function sealUndo(blockHash: Uint8Array, undo: Uint8Array): Uint8Array {
  return concatBytes(undo, checksum(blockHash, undo));
}

/** The undo data of a stored record. Throws DecodeError when it is damaged, or another block's. */
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
