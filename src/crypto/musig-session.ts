import { Point } from '@noble/secp256k1';
import { assert } from '../util/assert.ts';
import { concatBytes, equalBytes } from '../util/bytes.ts';
import { bigIntToBytes32, bytesToBigInt, CURVE_ORDER } from './curve.ts';
import { taggedHasher } from './hash-functions.ts';
import { publicKeyOf } from './keys.ts';
import { type AggregateKey, isOdd } from './musig.ts';
import type { MusigSecretNonce } from './musig-nonce.ts';
import { tweakAddSecret, tweakMulSecret } from './tweak.ts';

const coefficientHash = taggedHasher('MuSig/noncecoef');
const challengeHash = taggedHasher('BIP0340/challenge');

const POINT_SIZE = 33;
/** The encoding of infinity in an aggregate nonce (cbytes_ext). */
const INFINITY = new Uint8Array(POINT_SIZE);

/** The values of GetSessionValues (BIP-327, with its letters), on which all signers of a message must agree. */
export interface MusigSession {
  /** Q, gacc and tacc. */
  readonly key: AggregateKey;
  /** The nonce coefficient. */
  readonly b: bigint;
  /** The final nonce. */
  readonly R: Point;
  /** The challenge of BIP-340. */
  readonly e: bigint;
}

/** BIP-327's NonceAgg: returns the aggregate nonce of 66 bytes, or null if a public nonce is invalid. */
export function aggregateNonces(publicNonces: readonly Uint8Array[]): Uint8Array | null {
  let R1 = Point.ZERO;
  let R2 = Point.ZERO;
  for (const publicNonce of publicNonces) {
    const points = noncePoints(publicNonce);
    if (points === null) return null;
    // R_j = R_1,j + R_2,j + … + R_u,j
    R1 = R1.add(points[0]);
    R2 = R2.add(points[1]);
  }
  return concatBytes(encodeSum(R1), encodeSum(R2));
}

/** BIP-327's GetSessionValues. Null if the aggregate nonce is invalid. */
export function musigSession(key: AggregateKey, aggregateNonce: Uint8Array, message: Uint8Array): MusigSession | null {
  const R1 = decodeSum(aggregateNonce.subarray(0, POINT_SIZE));
  const R2 = decodeSum(aggregateNonce.subarray(POINT_SIZE));
  if (R1 === null || R2 === null) return null;
  // b = int(hash_MuSig/noncecoef(aggnonce || xbytes(Q) || m)) mod n
  const b = scalarOf(coefficientHash(aggregateNonce, key.xOnly, message));
  // R' = R_1 + b*R_2; R = G if R' is infinite. Such nonces come from a dishonest signer, whom PartialSigVerify finds.
  const sum = R1.add(R2.multiply(b, false));
  const R = sum.is0() ? Point.BASE : sum;
  // e = int(hash_BIP0340/challenge(xbytes(R) || xbytes(Q) || m)) mod n
  const e = scalarOf(challengeHash(R.toBytes().subarray(1), key.xOnly, message));
  return { key, b, R, e };
}

/**
 * BIP-327's Sign: returns a partial signature of 32 bytes. Uses up the nonce in any case. Throws if it was used before, or
 * if the key is not a participant's.
 */
export function signPartially(session: MusigSession, secretNonce: MusigSecretNonce, secret: Uint8Array): Uint8Array {
  const pk = publicKeyOf(secret);
  return secretNonce.use(pk, (k1, k2) => {
    const { key, b, R, e } = session;
    const isParticipant = key.participants.some((participant) => equalBytes(participant, pk));
    assert(isParticipant, 'the signer is one of the participants');
    // s = (k_1 + b*k_2 + e*a*d) mod n, where k_1 and k_2 are negated unless has_even_y(R), and d = g*gacc*d' mod n
    const bk2 = multiply(k2, b);
    const k1bk2 = add(bk2, k1);
    const k = multiply(k1bk2, isOdd(R) ? CURVE_ORDER - 1n : 1n);
    const ead = multiply(secret, keyFactor(session, pk, e));
    const s = add(k, ead);
    // Each of these values reveals the key together with what is published.
    for (const bytes of [bk2, k1bk2, k, ead]) bytes.fill(0);
    return s;
  });
}

/** BIP-327's PartialSigVerifyInternal: whether a partial signature is this participant's, made with this nonce. */
export function verifyPartial(
  session: MusigSession,
  partialSignature: Uint8Array,
  publicNonce: Uint8Array,
  publicKey: Uint8Array,
): boolean {
  const s = bytesToBigInt(partialSignature);
  const P = decodePoint(publicKey);
  const nonces = noncePoints(publicNonce);
  if (s >= CURVE_ORDER || P === null || nonces === null) return false;
  const { b, R, e } = session;
  // Re_*' = R_*,1 + b*R_*,2; Re_* = Re_*' if has_even_y(R), else -Re_*'
  const sum = nonces[0].add(nonces[1].multiply(b, false));
  const Re = isOdd(R) ? sum.negate() : sum;
  // s*G = Re_* + e*a*g'*P, where g' = g*gacc mod n
  const share = P.multiply(keyFactor(session, publicKey, e), false);
  return Point.BASE.multiply(s, false).equals(Re.add(share));
}

/**
 * BIP-327's PartialSigAgg: returns a BIP-340 signature of 64 bytes, which is valid if the partial signatures are. Null if
 * one of them is n or more.
 */
export function aggregatePartials(session: MusigSession, partialSignatures: readonly Uint8Array[]): Uint8Array | null {
  const { key, R, e } = session;
  // s = s_1 + … + s_u + e*g*tacc mod n, where g = 1 if has_even_y(Q), else n - 1
  const gtacc = isOdd(key.Q) ? CURVE_ORDER - key.tacc : key.tacc;
  let s = e * gtacc;
  for (const partial of partialSignatures) {
    const partialS = bytesToBigInt(partial);
    if (partialS >= CURVE_ORDER) return null;
    s += partialS;
  }
  return concatBytes(R.toBytes().subarray(1), bigIntToBytes32(s % CURVE_ORDER));
}

/** Returns e*a*g*gacc mod n, where a is the participant's coefficient and g = 1 if has_even_y(Q), else n - 1. */
function keyFactor({ key }: MusigSession, participant: Uint8Array, e: bigint): bigint {
  const a = key.coefficient(participant);
  const ggacc = isOdd(key.Q) ? CURVE_ORDER - key.gacc : key.gacc;
  return (((e * a) % CURVE_ORDER) * ggacc) % CURVE_ORDER;
}

function scalarOf(hash: Uint8Array): bigint {
  return bytesToBigInt(hash) % CURVE_ORDER;
}

/** BIP-327's cpoint; null for an invalid encoding. */
function decodePoint(bytes: Uint8Array): Point | null {
  if (bytes.length !== POINT_SIZE) return null;
  try {
    return Point.fromBytes(bytes);
  } catch {
    return null;
  }
}

/** Decodes the two points of a public nonce; null if one is invalid. */
function noncePoints(publicNonce: Uint8Array): readonly [Point, Point] | null {
  const R1 = decodePoint(publicNonce.subarray(0, POINT_SIZE));
  const R2 = decodePoint(publicNonce.subarray(POINT_SIZE));
  return R1 && R2 && [R1, R2];
}

/** BIP-327's cbytes_ext, which encodes infinity as zeros. */
function encodeSum(sum: Point): Uint8Array {
  return sum.is0() ? INFINITY : sum.toBytes();
}

/** BIP-327's cpoint_ext; null for an invalid encoding. */
function decodeSum(bytes: Uint8Array): Point | null {
  return equalBytes(bytes, INFINITY) ? Point.ZERO : decodePoint(bytes);
}

/** Adds modulo n. The result is zero with negligible probability. */
function add(a: Uint8Array, b: Uint8Array): Uint8Array {
  const sum = tweakAddSecret(a, b);
  assert(sum !== null, 'sum is not zero');
  return sum;
}

/** Multiplies modulo n. The result is zero with negligible probability. */
function multiply(a: Uint8Array, factor: bigint): Uint8Array {
  const product = tweakMulSecret(a, bigIntToBytes32(factor));
  assert(product !== null, 'product is not zero');
  return product;
}
