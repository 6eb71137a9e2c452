import { hash256 } from '../../crypto/hash.ts';
import { ByteReader, ByteWriter, DecodeError, equalBytes } from '../../util/bytes.ts';
import { COVERAGE_WINDOW, type MinedBlock } from './mempool-policy.ts';

/** What of fees outlives a restart. */
export interface SavedFees {
  /** Hash of the last of `mined`, wire order; null where there is none. */
  readonly tip: Uint8Array | null;
  /** Consecutive, the lowest first. */
  readonly mined: readonly MinedBlock[];
  /** `BlockPolicyEstimator.serialize`. */
  readonly history: Uint8Array;
}

const FORMAT = 2;
const HASH_SIZE = 32;

/** Ends with a checksum: a damaged average would not be seen to be one. */
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

/** What `encodeSavedFees` made; the history is not looked into. Throws DecodeError on anything else. */
export function decodeSavedFees(bytes: Uint8Array): SavedFees {
  const end = bytes.length - HASH_SIZE;
  if (end < 0 || !equalBytes(hash256(bytes.subarray(0, end)), bytes.subarray(end)))
    throw new DecodeError('the saved fees are damaged');
  const r = new ByteReader(bytes, 0, end);
  if (r.u32() !== FORMAT) throw new DecodeError('the saved fees have another format');
  const count = r.u8();
  if (count > COVERAGE_WINDOW) throw new DecodeError('the saved fees hold too many blocks');
  const mined: MinedBlock[] = [];
  for (let i = 0; i < count; i++) {
    const block = { height: r.u32(), weight: r.u32(), knownWeight: r.u32() };
    const before = mined.at(-1);
    if (before && before.height + 1 !== block.height) throw new DecodeError('blocks are missing in the saved fees');
    mined.push(block);
  }
  const tip = count === 0 ? null : r.bytes(HASH_SIZE).slice();
  return { tip, mined, history: r.bytes(r.remaining) };
}
