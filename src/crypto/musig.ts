import { Point } from '@noble/secp256k1';
import { equalBytes } from '../util/bytes.ts';
import { bytesToBigInt, CURVE_ORDER } from './curve.ts';
import { taggedHasher } from './hash-functions.ts';

const listHash = taggedHasher('KeyAgg list');
const coefficientHash = taggedHasher('KeyAgg coefficient');

/** A tweak of an aggregate key: its multiple of G is added to the key. */
export interface MusigTweak {
  readonly tweak: Uint8Array;
  /** BIP-327's is_xonly_t: whether the key is negated first if its Y is odd, as in BIP-341. */
  readonly xOnly: boolean;
}

/** The KeyAgg Context of BIP-327, with the BIP's letters: an aggregate key and how it was derived. Immutable. */
export class AggregateKey {
  /** The aggregate key as a point. */
  readonly Q: Point;
  /** 1, or n - 1 after an odd number of negations by tweaks. */
  readonly gacc: bigint;
  /** The accumulated tweaks. */
  readonly tacc: bigint;
  /** The compressed keys of the participants, in the order of aggregation. */
  readonly participants: readonly Uint8Array[];
  readonly #L: Uint8Array;
  readonly #pk2: Uint8Array | undefined;

  private constructor(parts: Pick<AggregateKey, 'Q' | 'gacc' | 'tacc' | 'participants'>, L: Uint8Array) {
    this.Q = parts.Q;
    this.gacc = parts.gacc;
    this.tacc = parts.tacc;
    this.participants = parts.participants;
    this.#L = L;
    this.#pk2 = secondKey(parts.participants);
  }

  /** BIP-327's KeyAgg. Null if the sum is infinity. Throws on a key that is not on the curve. */
  static of(participants: readonly Uint8Array[]): AggregateKey | null {
    const L = listHash(...participants);
    const pk2 = secondKey(participants);
    // Q = a_1*P_1 + a_2*P_2 + … + a_u*P_u
    let Q = Point.ZERO;
    for (const pk of participants) Q = Q.add(Point.fromBytes(pk).multiply(coefficientOf(pk, L, pk2), false));
    return Q.is0() ? null : new AggregateKey({ Q, gacc: 1n, tacc: 0n, participants }, L);
  }

  /** The compressed aggregate key. */
  get publicKey(): Uint8Array {
    return this.Q.toBytes();
  }

  get xOnly(): Uint8Array {
    return this.publicKey.subarray(1);
  }

  /** The coefficient of a participant's key, a_i of BIP-327 (KeyAggCoeff). */
  coefficient(pk: Uint8Array): bigint {
    return coefficientOf(pk, this.#L, this.#pk2);
  }

  /** BIP-327's ApplyTweak. Null if the tweak is n or more, or the result is infinity. */
  tweaked({ tweak, xOnly }: MusigTweak): AggregateKey | null {
    const t = bytesToBigInt(tweak);
    if (t >= CURVE_ORDER) return null;
    // g = n - 1 if is_xonly_t and not has_even_y(Q), else g = 1
    const isNegated = xOnly && isOdd(this.Q);
    // Q' = g*Q + t*G
    const Q = (isNegated ? this.Q.negate() : this.Q).add(Point.BASE.multiply(t, false));
    if (Q.is0()) return null;
    // gacc' = g*gacc mod n
    const gacc = isNegated ? CURVE_ORDER - this.gacc : this.gacc;
    // tacc' = t + g*tacc mod n
    const tacc = (t + (isNegated ? CURVE_ORDER - this.tacc : this.tacc)) % CURVE_ORDER;
    return new AggregateKey({ Q, gacc, tacc, participants: this.participants }, this.#L);
  }
}

/**
 * Returns the compressed aggregate of compressed keys, in their order (BIP-327). Null if the sum is infinity. Throws on a
 * key that is not on the curve.
 */
export function aggregatePublicKeys(publicKeys: readonly Uint8Array[]): Uint8Array | null {
  return AggregateKey.of(publicKeys)?.publicKey ?? null;
}

/** Whether Y is odd: the negation of BIP-327's has_even_y. */
export function isOdd(point: Point): boolean {
  return (point.toAffine().y & 1n) === 1n;
}

/** BIP-327's GetSecondKey: the first key that differs from the first one. */
function secondKey(keys: readonly Uint8Array[]): Uint8Array | undefined {
  return keys.find((key) => !equalBytes(key, keys[0]!));
}

/** BIP-327's KeyAggCoeffInternal: the second key has the coefficient 1. */
function coefficientOf(pk: Uint8Array, L: Uint8Array, pk2: Uint8Array | undefined): bigint {
  if (pk2 !== undefined && equalBytes(pk, pk2)) return 1n;
  return bytesToBigInt(coefficientHash(L, pk)) % CURVE_ORDER;
}
