import { Point } from '@noble/secp256k1';
import { equalBytes } from '../util/bytes.ts';
import { bytesToBigInt, CURVE_ORDER } from './curve.ts';
import { taggedHasher } from './hash.ts';

const listHash = taggedHasher('KeyAgg list');
const coefficientHash = taggedHasher('KeyAgg coefficient');

/**
 * BIP-327: the compressed key that stands for all of these, which are compressed and in the order they are to be
 * aggregated in. Null where they add up to infinity. Throws on a key that is not on the curve.
 */
export function aggregatePublicKeys(publicKeys: readonly Uint8Array[]): Uint8Array | null {
  const list = listHash(...publicKeys);
  const [first] = publicKeys;
  const second = publicKeys.find((key) => !equalBytes(key, first!));
  let sum = Point.ZERO;
  for (const key of publicKeys) {
    const point = Point.fromBytes(key);
    // The second key that is not the first one may go without a coefficient of its own.
    if (second !== undefined && equalBytes(key, second)) sum = sum.add(point);
    else sum = sum.add(point.multiply(bytesToBigInt(coefficientHash(list, key)) % CURVE_ORDER, false));
  }
  return sum.is0() ? null : sum.toBytes();
}
