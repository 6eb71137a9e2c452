import { Point } from '@noble/secp256k1';
import { equalBytes } from '../util/bytes.ts';
import { bytesToBigInt, CURVE_ORDER } from './curve.ts';
import { taggedHasher } from './hash.ts';

const listHash = taggedHasher('KeyAgg list');
const coefficientHash = taggedHasher('KeyAgg coefficient');

/** What is added to an aggregate key, times G. */
export interface MusigTweak {
  readonly tweak: Uint8Array;
  /** Whether it is added to the one of the key and its negative that has an even Y, as BIP-341 does. */
  readonly xOnly: boolean;
}

/** BIP-327's context of key aggregation: the key that stands for several, and how it came about. Immutable. */
export class AggregateKey {
  readonly point: Point;
  /** Compressed, in the order they are aggregated in. */
  readonly participants: readonly Uint8Array[];
  /** BIP-327's gacc: 1, or n - 1 where the aggregate was negated on the way. */
  readonly sign: bigint;
  /** BIP-327's tacc: all that was added. */
  readonly tweak: bigint;
  readonly #list: Uint8Array;
  readonly #second: Uint8Array | undefined;

  private constructor(parts: Pick<AggregateKey, 'point' | 'participants' | 'sign' | 'tweak'>, list: Uint8Array) {
    this.point = parts.point;
    this.participants = parts.participants;
    this.sign = parts.sign;
    this.tweak = parts.tweak;
    this.#list = list;
    this.#second = secondKey(parts.participants);
  }

  /** Null where the keys add up to infinity. Throws on a key that is not on the curve. */
  static of(participants: readonly Uint8Array[]): AggregateKey | null {
    const list = listHash(...participants);
    const second = secondKey(participants);
    let point = Point.ZERO;
    for (const key of participants)
      point = point.add(Point.fromBytes(key).multiply(coefficientOf(key, list, second), false));
    return point.is0() ? null : new AggregateKey({ point, participants, sign: 1n, tweak: 0n }, list);
  }

  /** Compressed. */
  get publicKey(): Uint8Array {
    return this.point.toBytes();
  }

  get xOnly(): Uint8Array {
    return this.publicKey.subarray(1);
  }

  /** What a participant's key counts. */
  coefficient(participant: Uint8Array): bigint {
    return coefficientOf(participant, this.#list, this.#second);
  }

  /** Null for a tweak of n or more, or infinity. */
  tweaked({ tweak, xOnly }: MusigTweak): AggregateKey | null {
    const added = bytesToBigInt(tweak);
    if (added >= CURVE_ORDER) return null;
    const negated = xOnly && isOdd(this.point);
    const base = negated ? this.point.negate() : this.point;
    const point = base.add(Point.BASE.multiply(added, false));
    if (point.is0()) return null;
    const sign = negated ? CURVE_ORDER - this.sign : this.sign;
    const sum = ((negated ? CURVE_ORDER - this.tweak : this.tweak) + added) % CURVE_ORDER;
    return new AggregateKey({ point, participants: this.participants, sign, tweak: sum }, this.#list);
  }
}

/**
 * BIP-327: the compressed key that stands for all of these, which are compressed and in the order they are to be
 * aggregated in. Null where they add up to infinity. Throws on a key that is not on the curve.
 */
export function aggregatePublicKeys(publicKeys: readonly Uint8Array[]): Uint8Array | null {
  return AggregateKey.of(publicKeys)?.publicKey ?? null;
}

/** Whether Y is odd. */
export function isOdd(point: Point): boolean {
  return (point.toAffine().y & 1n) === 1n;
}

function secondKey(keys: readonly Uint8Array[]): Uint8Array | undefined {
  return keys.find((key) => !equalBytes(key, keys[0]!));
}

/** The second key that is not the first one may go without a coefficient of its own. */
function coefficientOf(key: Uint8Array, list: Uint8Array, second: Uint8Array | undefined): bigint {
  if (second !== undefined && equalBytes(key, second)) return 1n;
  return bytesToBigInt(coefficientHash(list, key)) % CURVE_ORDER;
}
