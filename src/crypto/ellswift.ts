import { Point } from '@noble/secp256k1';
import { assert } from '../util/assert.ts';
import { concatBytes } from '../util/bytes.ts';
import { bigIntToBytes32, bytesToBigInt } from './curve.ts';
import { taggedHasher } from './hash-functions.ts';
import { isValidSecret, xOnlyOf } from './keys.ts';

/** The field size p of secp256k1. */
const P = 0xffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_fffffffe_fffffc2fn;
/** BIP-324's c: the square root of -3. */
const SQRT_MINUS_3 = 0x0a2d2ba9_3507f1df_233770c2_a797962c_c61f6d15_da14ecd4_7d8d27ae_1cd5f852n;
const HALF = (P + 1n) / 2n;

export const ELLSWIFT_SIZE = 64;

const sharedHash = taggedHasher('bip324_ellswift_xonly_ecdh');

/** Returns random bytes. */
export type RandomBytes = (size: number) => Uint8Array;

const systemRandom: RandomBytes = (size) => crypto.getRandomValues(new Uint8Array(size));

/**
 * Returns the 32-byte X coordinate that 64 bytes encode; every string of 64 bytes encodes one (BIP-324,
 * ElligatorSwift).
 */
export function ellswiftDecode(encoded: Uint8Array): Uint8Array {
  assert(encoded.length === ELLSWIFT_SIZE, 'an encoded key has 64 bytes');
  const u = bytesToBigInt(encoded.subarray(0, 32)) % P;
  const t = bytesToBigInt(encoded.subarray(32)) % P;
  return bigIntToBytes32(xSwiftEc(u, t));
}

/**
 * Returns an ElligatorSwift encoding of a secret's public key: 64 bytes that are indistinguishable from random ones.
 * `random` is called a few times. Throws on an invalid secret.
 */
export function ellswiftCreate(secret: Uint8Array, random: RandomBytes = systemRandom): Uint8Array {
  assert(isValidSecret(secret), 'valid secret key');
  const x = bytesToBigInt(xOnlyOf(secret));
  for (;;) {
    const u = bytesToBigInt(random(32)) % P;
    const caseNumber = random(1)[0]! & 7;
    const t = u === 0n ? null : xSwiftEcInverse(x, u, caseNumber);
    if (t !== null) return concatBytes(bigIntToBytes32(u), bigIntToBytes32(t));
  }
}

/** Returns the shared secret of 32 bytes, which commits to both encoded keys (BIP-324, v2_ecdh). */
export function ellswiftSharedSecret(
  secret: Uint8Array,
  ours: Uint8Array,
  theirs: Uint8Array,
  initiating: boolean,
): Uint8Array {
  const point = Point.fromBytes(concatBytes(Uint8Array.of(2), ellswiftDecode(theirs)) as Uint8Array<ArrayBuffer>);
  const x = bigIntToBytes32(point.multiply(bytesToBigInt(secret)).toAffine().x);
  return initiating ? sharedHash(ours, theirs, x) : sharedHash(theirs, ours, x);
}

/** BIP-324's XSwiftEC, with its letters: returns the x that (u, t) encodes. */
function xSwiftEc(u0: bigint, t0: bigint): bigint {
  // u' = u if u ≠ 0, else 1; t' = t if t ≠ 0, else 1
  const u = u0 === 0n ? 1n : u0;
  let t = t0 === 0n ? 1n : t0;
  const g = curveAt(u);
  // t'' = t' if g(u') + t'^2 ≠ 0, else 2t'
  if (mod(g + t * t) === 0n) t = mod(2n * t);
  // X = (g(u') - t''^2) / (2t''); Y = (X + t'') / (u'c)
  const X = mod((g - t * t) * inverse(2n * t));
  const Y = mod((X + t) * inverse(SQRT_MINUS_3 * u));
  // The first x on the curve of u' + 4Y^2, (-X/Y - u')/2, (X/Y - u')/2
  const x3 = mod(u + 4n * Y * Y);
  if (isOnCurve(x3)) return x3;
  const ratio = mod(X * inverse(Y));
  const x2 = mod((-ratio - u) * HALF);
  return isOnCurve(x2) ? x2 : mod((ratio - u) * HALF);
}

/** BIP-324's XSwiftECInv, with its letters: returns the t with which (u, t) encodes x, or null. `caseNumber`: 0 to 7. */
export function xSwiftEcInverse(x: bigint, u: bigint, caseNumber: number): bigint | null {
  let v = x;
  let s: bigint;
  if ((caseNumber & 2) === 0) {
    // Fails if lift_x(-x - u) succeeds; s = -(u^3 + 7) / (u^2 + uv + v^2)
    if (isOnCurve(mod(-x - u))) return null;
    s = mod(-curveAt(u) * inverse(u * u + u * v + v * v));
  } else {
    s = mod(x - u);
    if (s === 0n) return null;
    // r = sqrt(-s(4(u^3 + 7) + 3u^2s)); v = (r/s - u) / 2
    const r = squareRoot(mod(-s * (4n * curveAt(u) + 3n * s * u * u)));
    if (r === null || (caseNumber & 1 && r === 0n)) return null;
    v = mod((r * inverse(s) - u) * HALF);
  }
  const w = squareRoot(s);
  if (w === null) return null;
  // t = w(u(1 - c)/2 + v) in cases 0 and 4, w(u(1 + c)/2 + v) in cases 1 and 5 (of case & 5); negated in 0 and 5
  const c = caseNumber & 1 ? 1n + SQRT_MINUS_3 : 1n - SQRT_MINUS_3;
  const t = mod(w * (u * c * HALF + v));
  const isNegated = (caseNumber & 5) === 0 || (caseNumber & 5) === 5;
  return isNegated ? mod(-t) : t;
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function curveAt(x: bigint): bigint {
  return mod(x * x * x + 7n);
}

function isOnCurve(x: bigint): boolean {
  return squareRoot(curveAt(x)) !== null;
}

/** Returns the square root that is itself a square, or null. */
function squareRoot(value: bigint): bigint | null {
  const root = power(value, (P + 1n) / 4n);
  return mod(root * root) === value ? root : null;
}

/** Returns the inverse by Fermat's theorem; zero for zero. */
function inverse(value: bigint): bigint {
  return power(mod(value), P - 2n);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % P;
    if (bit === '1') result = (result * base) % P;
  }
  return result;
}
