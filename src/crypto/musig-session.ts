import { Point } from '@noble/secp256k1';
import { assert } from '../util/assert.ts';
import { concatBytes, equalBytes } from '../util/bytes.ts';
import { bigIntToBytes32, bytesToBigInt, CURVE_ORDER } from './curve.ts';
import { taggedHasher } from './hash.ts';
import { publicKeyOf } from './keys.ts';
import { type AggregateKey, isOdd } from './musig.ts';
import type { MusigSecretNonce } from './musig-nonce.ts';
import { tweakAddSecret, tweakMulSecret } from './tweak.ts';

const coefficientHash = taggedHasher('MuSig/noncecoef');
const challengeHash = taggedHasher('BIP0340/challenge');

const POINT_SIZE = 33;
/** Stands for infinity in an aggregate nonce. */
const INFINITY = new Uint8Array(POINT_SIZE);

/** BIP-327: what all signers of one message have to agree on. */
export interface MusigSession {
  readonly key: AggregateKey;
  /** R of the signature to be. */
  readonly nonce: Point;
  /** What each second nonce counts: BIP-327's b. */
  readonly nonceCoefficient: bigint;
  /** BIP-340's e. */
  readonly challenge: bigint;
}

/** BIP-327's NonceAgg: 66 bytes. Null where a public nonce is none. */
export function aggregateNonces(publicNonces: readonly Uint8Array[]): Uint8Array | null {
  let first = Point.ZERO;
  let second = Point.ZERO;
  for (const nonce of publicNonces) {
    const points = nonceOf(nonce);
    if (points === null) return null;
    first = first.add(points[0]);
    second = second.add(points[1]);
  }
  return concatBytes(bytesOf(first), bytesOf(second));
}

/** BIP-327's session values. Null where the aggregate nonce is none. */
export function musigSession(key: AggregateKey, aggregateNonce: Uint8Array, message: Uint8Array): MusigSession | null {
  const first = sumOf(aggregateNonce.subarray(0, POINT_SIZE));
  const second = sumOf(aggregateNonce.subarray(POINT_SIZE));
  if (first === null || second === null) return null;
  const nonceCoefficient = scalarOf(coefficientHash(aggregateNonce, key.xOnly, message));
  const sum = first.add(second.multiply(nonceCoefficient, false));
  // Nonces that cancel out come from a dishonest signer, who is found by the partial signatures.
  const nonce = sum.is0() ? Point.BASE : sum;
  const challenge = scalarOf(challengeHash(nonce.toBytes().subarray(1), key.xOnly, message));
  return { key, nonce, nonceCoefficient, challenge };
}

/**
 * BIP-327's Sign: 32 bytes. Uses up the nonce, whatever comes of it. Throws where that was used before, or the key is not
 * one of the participants.
 */
export function signPartially(session: MusigSession, secretNonce: MusigSecretNonce, secret: Uint8Array): Uint8Array {
  const publicKey = publicKeyOf(secret);
  return secretNonce.use(publicKey, (first, second) => {
    const { key, nonce, nonceCoefficient, challenge } = session;
    const isParticipant = key.participants.some((participant) => equalBytes(participant, publicKey));
    assert(isParticipant, 'the signer is one of the participants');
    const weighted = multiply(second, nonceCoefficient);
    const sum = add(weighted, first);
    const ownNonce = multiply(sum, isOdd(nonce) ? CURVE_ORDER - 1n : 1n);
    const share = multiply(secret, keyFactor(session, publicKey, challenge));
    const partial = add(ownNonce, share);
    // Each of them and what is published tell the key.
    for (const bytes of [weighted, sum, ownNonce, share]) bytes.fill(0);
    return partial;
  });
}

/** BIP-327's PartialSigVerify: whether it is of this participant, with the nonce that was told before. */
export function verifyPartial(
  session: MusigSession,
  partialSignature: Uint8Array,
  publicNonce: Uint8Array,
  publicKey: Uint8Array,
): boolean {
  const s = bytesToBigInt(partialSignature);
  const participant = pointOf(publicKey);
  const points = nonceOf(publicNonce);
  if (s >= CURVE_ORDER || participant === null || points === null) return false;
  const { nonce, nonceCoefficient, challenge } = session;
  const sum = points[0].add(points[1].multiply(nonceCoefficient, false));
  const ownNonce = isOdd(nonce) ? sum.negate() : sum;
  const share = participant.multiply(keyFactor(session, publicKey, challenge), false);
  return Point.BASE.multiply(s, false).equals(ownNonce.add(share));
}

/**
 * BIP-327's PartialSigAgg: a BIP-340 signature, 64 bytes, which is as good as what it is made of. Null where a partial
 * signature is n or more.
 */
export function aggregatePartials(session: MusigSession, partialSignatures: readonly Uint8Array[]): Uint8Array | null {
  const { key, nonce, challenge } = session;
  const tweak = isOdd(key.point) ? CURVE_ORDER - key.tweak : key.tweak;
  let sum = challenge * tweak;
  for (const partial of partialSignatures) {
    const s = bytesToBigInt(partial);
    if (s >= CURVE_ORDER) return null;
    sum += s;
  }
  return concatBytes(nonce.toBytes().subarray(1), bigIntToBytes32(sum % CURVE_ORDER));
}

/** What a participant's key is multiplied with: the challenge, its coefficient, and the signs of the aggregate. */
function keyFactor({ key }: MusigSession, participant: Uint8Array, challenge: bigint): bigint {
  const sign = isOdd(key.point) ? CURVE_ORDER - key.sign : key.sign;
  return (((challenge * key.coefficient(participant)) % CURVE_ORDER) * sign) % CURVE_ORDER;
}

function scalarOf(hash: Uint8Array): bigint {
  return bytesToBigInt(hash) % CURVE_ORDER;
}

function pointOf(bytes: Uint8Array): Point | null {
  if (bytes.length !== POINT_SIZE) return null;
  try {
    return Point.fromBytes(bytes);
  } catch {
    return null;
  }
}

/** The two points of a public nonce. */
function nonceOf(bytes: Uint8Array): readonly [Point, Point] | null {
  const first = pointOf(bytes.subarray(0, POINT_SIZE));
  const second = pointOf(bytes.subarray(POINT_SIZE));
  return first && second && [first, second];
}

function bytesOf(sum: Point): Uint8Array {
  return sum.is0() ? INFINITY : sum.toBytes();
}

function sumOf(bytes: Uint8Array): Point | null {
  return equalBytes(bytes, INFINITY) ? Point.ZERO : pointOf(bytes);
}

/** Zeros come of no hash. */
function add(a: Uint8Array, b: Uint8Array): Uint8Array {
  const sum = tweakAddSecret(a, b);
  assert(sum !== null, 'sum is not zero');
  return sum;
}

function multiply(a: Uint8Array, factor: bigint): Uint8Array {
  const product = tweakMulSecret(a, bigIntToBytes32(factor));
  assert(product !== null, 'product is not zero');
  return product;
}
