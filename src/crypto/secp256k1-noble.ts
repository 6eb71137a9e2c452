import { hashes, Point, verify } from '@noble/secp256k1';
import { bytesToBigInt, CURVE_ORDER, hasPublicKeyShape } from './curve.ts';
import { parseDerLax } from './der.ts';
import { sha256, taggedHasher } from './hash-functions.ts';
import type { SignatureEngine } from './signature-engine.ts';

hashes.sha256 = (message) => sha256(message) as Uint8Array<ArrayBuffer>;
hashes.hmacSha256 = (key, message) => new Uint8Array(new Bun.CryptoHasher('sha256', key).update(message).digest());

const challengeHash = taggedHasher('BIP0340/challenge');
/** Scratch space of one call. */
const compact = new Uint8Array(64);

/** Returns the engine in TypeScript: works on all platforms, about twenty times slower than libsecp256k1. */
export function nobleEngine(): SignatureEngine {
  return { name: 'noble', verifyEcdsa, verifySchnorr, checkTapTweak, isValidPublicKey };
}

function verifyEcdsa(signature: Uint8Array, msg32: Uint8Array, publicKey: Uint8Array): boolean {
  if (!hasPublicKeyShape(publicKey) || !parseDerLax(signature, compact)) return false;
  const key = withoutHybridPrefix(publicKey);
  return key !== null && verify(compact, msg32, key, { prehash: false, lowS: false });
}

/**
 * BIP-340 verification with the library's point arithmetic: its own verification rejects s = 0, which BIP-340 and
 * libsecp256k1 accept.
 */
function verifySchnorr(signature64: Uint8Array, msg32: Uint8Array, xOnlyKey32: Uint8Array): boolean {
  const key = liftX(xOnlyKey32);
  if (key === null) return false;
  const rBytes = signature64.subarray(0, 32);
  const s = bytesToBigInt(signature64.subarray(32, 64));
  if (s >= CURVE_ORDER) return false;
  const e = bytesToBigInt(challengeHash(rBytes, xOnlyKey32, msg32)) % CURVE_ORDER;
  const point = Point.BASE.multiply(s, false).add(key.multiply((CURVE_ORDER - e) % CURVE_ORDER, false));
  if (point.is0()) return false;
  const { x, y } = point.toAffine();
  // An r of p or more equals no x.
  return (y & 1n) === 0n && x === bytesToBigInt(rBytes);
}

function checkTapTweak(
  outputKey32: Uint8Array,
  internalKey32: Uint8Array,
  tweak32: Uint8Array,
  parity: number,
): boolean {
  const tweaked = tweakXOnly(internalKey32, tweak32);
  if (tweaked === null) return false;
  const { x, y } = tweaked.toAffine();
  return x === bytesToBigInt(outputKey32) && Number(y & 1n) === parity;
}

/**
 * Returns `lift_x(internalKey) + tweak*G` (BIP-341); null for a key off the curve, a tweak of n or more, or infinity.
 */
function tweakXOnly(internalKey32: Uint8Array, tweak32: Uint8Array): Point | null {
  const internal = liftX(internalKey32);
  const tweak = bytesToBigInt(tweak32);
  if (internal === null || tweak >= CURVE_ORDER) return null;
  const tweaked = internal.add(Point.BASE.multiply(tweak, false));
  return tweaked.is0() ? null : tweaked;
}

function isValidPublicKey(publicKey: Uint8Array): boolean {
  const key = hasPublicKeyShape(publicKey) ? withoutHybridPrefix(publicKey) : null;
  return key !== null && pointOf(key) !== null;
}

/**
 * Converts a hybrid key, whose first byte states the parity of Y, to the uncompressed form; null if the parity is
 * wrong.
 */
function withoutHybridPrefix(publicKey: Uint8Array): Uint8Array | null {
  const prefix = publicKey[0]!;
  if (prefix !== 6 && prefix !== 7) return publicKey;
  if ((publicKey[64]! & 1) !== (prefix & 1)) return null;
  const key = publicKey.slice();
  key[0] = 4;
  return key;
}

function liftX(xOnlyKey32: Uint8Array): Point | null {
  const key = new Uint8Array(33);
  key[0] = 2;
  key.set(xOnlyKey32, 1);
  return pointOf(key);
}

function pointOf(key: Uint8Array): Point | null {
  try {
    return Point.fromBytes(key);
  } catch {
    return null;
  }
}
