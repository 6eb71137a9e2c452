import { Point } from '@noble/secp256k1';
import { secretCopy } from '../util/secret-bytes.ts';
import { bigIntToBytes32, bytesToBigInt, CURVE_ORDER } from './curve.ts';
import type { KeyOperations } from './key-operations.ts';
import { keyOperations } from './secp256k1.ts';

/** Returns `publicKey33 + tweak*G`, compressed; null for a key off the curve, a tweak of n or more, or infinity. */
export function tweakAddPublicKey(
  publicKey33: Uint8Array,
  tweak32: Uint8Array,
  keys: KeyOperations | null = keyOperations(),
): Uint8Array | null {
  if (keys === null) return tweakWithNoble(publicKey33, tweak32);
  const out = new Uint8Array(33);
  return keys.publicKeyTweakAdd(out, publicKey33, tweak32) === 0 ? out : null;
}

function tweakWithNoble(publicKey33: Uint8Array, tweak32: Uint8Array): Uint8Array | null {
  const tweak = bytesToBigInt(tweak32);
  if (tweak >= CURVE_ORDER) return null;
  try {
    const point = Point.fromBytes(publicKey33);
    const sum = tweak === 0n ? point : point.add(Point.BASE.multiply(tweak));
    return sum.is0() ? null : sum.toBytes();
  } catch {
    return null;
  }
}

/**
 * Returns `secret + tweak` modulo n; null for a tweak of n or more, or if the sum is zero. Without the addon BigInts
 * hold the secret, which cannot be overwritten.
 */
export function tweakAddSecret(
  secret32: Uint8Array,
  tweak32: Uint8Array,
  keys: KeyOperations | null = keyOperations(),
): Uint8Array | null {
  if (keys !== null) {
    const out = secretCopy(secret32);
    if (keys.privateKeyTweakAdd(out, tweak32) === 0) return out;
    out.fill(0);
    return null;
  }
  const tweak = bytesToBigInt(tweak32);
  if (tweak >= CURVE_ORDER) return null;
  const sum = (bytesToBigInt(secret32) + tweak) % CURVE_ORDER;
  return sum === 0n ? null : bigIntToBytes32(sum);
}

/** Returns `secret * factor` modulo n; null for a factor that is zero or n or more. */
export function tweakMulSecret(
  secret32: Uint8Array,
  factor32: Uint8Array,
  keys: KeyOperations | null = keyOperations(),
): Uint8Array | null {
  if (keys !== null) {
    const out = secretCopy(secret32);
    if (keys.privateKeyTweakMul(out, factor32) === 0) return out;
    out.fill(0);
    return null;
  }
  const factor = bytesToBigInt(factor32);
  if (factor === 0n || factor >= CURVE_ORDER) return null;
  return bigIntToBytes32((bytesToBigInt(secret32) * factor) % CURVE_ORDER);
}
