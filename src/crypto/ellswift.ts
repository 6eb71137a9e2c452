import { Point } from '@noble/secp256k1';
import { assert } from '../util/assert.ts';
import { concatBytes } from '../util/bytes.ts';
import { bigIntToBytes32, bytesToBigInt } from './curve.ts';
import { taggedHasher } from './hash.ts';
import { isValidSecret, xOnlyOf } from './keys.ts';

/** The field of secp256k1. */
const P = 0xffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_fffffffe_fffffc2fn;
/** The square root of -3 that BIP-324 has chosen. */
const SQRT_MINUS_3 = 0x0a2d2ba9_3507f1df_233770c2_a797962c_c61f6d15_da14ecd4_7d8d27ae_1cd5f852n;
const HALF = (P + 1n) / 2n;

export const ELLSWIFT_SIZE = 64;

const sharedHash = taggedHasher('bip324_ellswift_xonly_ecdh');

/** Draws that many random bytes. */
export type RandomBytes = (size: number) => Uint8Array;

const systemRandom: RandomBytes = (size) => crypto.getRandomValues(new Uint8Array(size));

/** The 32-byte X coordinate that 64 bytes stand for. Every string of 64 bytes stands for one. */
export function ellswiftDecode(encoded: Uint8Array): Uint8Array {
  assert(encoded.length === ELLSWIFT_SIZE, 'an encoded key has 64 bytes');
  const u = bytesToBigInt(encoded.subarray(0, 32)) % P;
  const t = bytesToBigInt(encoded.subarray(32)) % P;
  return bigIntToBytes32(xOfElements(u, t));
}

/**
 * One of the encodings of a secret's public key, 64 bytes that cannot be told from random ones. `random` is drawn from
 * a few times. Throws on an invalid secret.
 */
export function ellswiftCreate(secret: Uint8Array, random: RandomBytes = systemRandom): Uint8Array {
  assert(isValidSecret(secret), 'valid secret key');
  const x = bytesToBigInt(xOnlyOf(secret));
  for (;;) {
    const u = bytesToBigInt(random(32)) % P;
    const form = random(1)[0]! & 7;
    const t = u === 0n ? null : xSwiftEcInverse(x, u, form);
    if (t !== null) return concatBytes(bigIntToBytes32(u), bigIntToBytes32(t));
  }
}

/** BIP-324: the 32 bytes both sides know, bound to both keys as they were sent. */
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

/** XSwiftEC of BIP-324. */
function xOfElements(u0: bigint, t0: bigint): bigint {
  const u = u0 === 0n ? 1n : u0;
  let t = t0 === 0n ? 1n : t0;
  const g = curveAt(u);
  if (mod(g + t * t) === 0n) t = mod(2n * t);
  const x = mod((g - t * t) * inverse(2n * t));
  const y = mod((x + t) * inverse(SQRT_MINUS_3 * u));
  const third = mod(u + 4n * y * y);
  if (isOnCurve(third)) return third;
  const ratio = mod(x * inverse(y));
  const second = mod((-ratio - u) * HALF);
  return isOnCurve(second) ? second : mod((ratio - u) * HALF);
}

/** XSwiftECInv of BIP-324: the t with which (u, t) encodes x, or null; `form` (0 to 7) selects one of up to eight. */
export function xSwiftEcInverse(x: bigint, u: bigint, form: number): bigint | null {
  let v = x;
  let s: bigint;
  if ((form & 2) === 0) {
    if (isOnCurve(mod(-x - u))) return null;
    s = mod(-curveAt(u) * inverse(u * u + u * v + v * v));
  } else {
    s = mod(x - u);
    if (s === 0n) return null;
    const r = squareRoot(mod(-s * (4n * curveAt(u) + 3n * s * u * u)));
    if (r === null || (form & 1 && r === 0n)) return null;
    v = mod((r * inverse(s) - u) * HALF);
  }
  const w = squareRoot(s);
  if (w === null) return null;
  const c = form & 1 ? 1n + SQRT_MINUS_3 : 1n - SQRT_MINUS_3;
  const t = mod(w * (u * c * HALF + v));
  const negated = (form & 5) === 0 || (form & 5) === 5;
  return negated ? mod(-t) : t;
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

/** The root that is itself a square, or null. */
function squareRoot(value: bigint): bigint | null {
  const root = power(value, (P + 1n) / 4n);
  return mod(root * root) === value ? root : null;
}

/** By Fermat; zero for zero. */
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
