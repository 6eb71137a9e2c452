import { hash256 } from '../../crypto/hash-functions.ts';
import { ByteReader, ByteWriter, DecodeError, equalBytes } from '../../util/bytes.ts';
import { type BlockOverlap, COVERAGE_WINDOW } from './mempool-policy.ts';

/** The state of fee estimation that is kept across restarts. */
export interface SavedFees {
  /** Hash of the last block of `mined`, in wire order; null if `mined` is empty. */
  readonly tip: Uint8Array | null;
  /** Consecutive blocks, lowest first. */
  readonly mined: readonly BlockOverlap[];
  /** Bytes of `BlockPolicyEstimator.serialize`. */
  readonly history: Uint8Array;
}

const FORMAT = 2;
const HASH_SIZE = 32;

/** The bytes end with a checksum, since a corrupt average could not be detected otherwise. */
export function encodeSavedFees({ tip, mined, history }: SavedFees): Uint8Array {
  const w = new ByteWriter(history.length + 256);
  w.u32(FORMAT);
  w.u8(tip ? mined.length : 0);
  if (tip) {
    for (const { height, weight, knownWeight } of mined) {
      w.u32(height);
      w.u32(weight);
      w.u32(knownWeight);
    }
    w.bytes(tip);
  }
  w.bytes(history);
  w.bytes(hash256(w.finish()));
  return w.finish().slice();
}

/** Decodes the bytes of `encodeSavedFees`, but not the history in them. Throws DecodeError if they are invalid. */
export function decodeSavedFees(bytes: Uint8Array): SavedFees {
  const end = bytes.length - HASH_SIZE;
  if (end < 0 || !equalBytes(hash256(bytes.subarray(0, end)), bytes.subarray(end)))
    throw new DecodeError('checksum mismatch in the saved fees');
  const r = new ByteReader(bytes, 0, end);
  if (r.u32() !== FORMAT) throw new DecodeError('unknown format of the saved fees');
  const count = r.u8();
  if (count > COVERAGE_WINDOW) throw new DecodeError('too many blocks in the saved fees');
  const mined: BlockOverlap[] = [];
  for (let i = 0; i < count; i++) {
    const block = { height: r.u32(), weight: r.u32(), knownWeight: r.u32() };
    const before = mined.at(-1);
    if (before && before.height + 1 !== block.height)
      throw new DecodeError('the blocks of the saved fees are not consecutive');
    mined.push(block);
  }
  const tip = count === 0 ? null : r.bytes(HASH_SIZE).slice();
  return { tip, mined, history: r.bytes(r.remaining) };
}
