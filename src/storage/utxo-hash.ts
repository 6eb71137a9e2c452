import { sha256 } from '../crypto/hash-functions.ts';
import { MuHash3072 } from '../crypto/muhash.ts';
import { coinHeight, isCoinbaseCoin } from '../primitives/coin.ts';
import { encodeOutpoint } from '../primitives/outpoint.ts';
import { encodeOutput } from '../primitives/transaction.ts';
import type { ByteWriter } from '../util/bytes.ts';
import type { PlacedCoin } from './coin-store.ts';

export type UtxoHashType = 'hash_serialized_3' | 'muhash' | 'none';

/** Encodes a coin as an element of the hashes of the set. */
export function encodeSetElement(w: ByteWriter, coin: PlacedCoin): void {
  encodeOutpoint(w, coin.outpoint);
  w.u32(setElementCode(coinHeight(coin), isCoinbaseCoin(coin)));
  encodeOutput(w, coin.output);
}

/** Returns the number in an element that has the height of a coin and whether it is one of a coinbase. */
export function setElementCode(height: number, isCoinbase: boolean): number {
  return ((height << 1) | (isCoinbase ? 1 : 0)) >>> 0;
}

const BOGO_OVERHEAD = 32 + 4 + 4 + 8 + 2;

/** Returns Core's measure of the size of an output that does not depend on the storage. */
export function bogoSize(scriptLength: number): number {
  return BOGO_OVERHEAD + scriptLength;
}

export interface SetHasher {
  add(element: Uint8Array): void;
  digest(): Uint8Array;
}

/** Returns the hasher of a set, whose elements come in the order of `CoinStore.all`; null for `none`. */
export function setHasher(type: UtxoHashType): SetHasher | null {
  if (type === 'none') return null;
  if (type === 'muhash') {
    const set = new MuHash3072();
    return { add: (element) => set.insert(element), digest: () => set.digest() };
  }
  const inner = new Bun.SHA256();
  const digest = () => {
    const first = new Uint8Array(32);
    inner.digest(first);
    return sha256(first);
  };
  return { add: (element) => inner.update(element), digest };
}
