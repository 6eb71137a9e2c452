import { chacha20KeyStream } from './chacha20.ts';
import { sha256 } from './hash-functions.ts';

const BITS = 3072n;
const BYTES = 384;
const MASK = (1n << BITS) - 1n;
/** The modulus is 2^3072 - 1103717, the largest safe prime of that size. */
const PRIME_DIFFERENCE = 1_103_717n;
const MODULUS = (1n << BITS) - PRIME_DIFFERENCE;

/**
 * MuHash3072: a hash of a set, independent of the order, from which elements can be removed. Each element becomes a
 * number of 3,072 bits; the hash is the product of the inserted numbers over that of the removed ones.
 */
export class MuHash3072 {
  #numerator = 1n;
  #denominator = 1n;
  readonly #stream = new Uint8Array(BYTES);

  insert(element: Uint8Array): void {
    this.#numerator = multiply(this.#numerator, this.#numberOf(element));
  }

  remove(element: Uint8Array): void {
    this.#denominator = multiply(this.#denominator, this.#numberOf(element));
  }

  /** Returns the hash, 32 bytes in wire order. More elements may follow. */
  digest(): Uint8Array {
    return muhashDigest(multiply(this.#numerator, inverse(this.#denominator % MODULUS)) % MODULUS);
  }

  /** Returns what the elements have changed. */
  get change(): MuHashChange {
    return { inserted: this.#numerator, removed: this.#denominator };
  }

  #numberOf(element: Uint8Array): bigint {
    chacha20KeyStream(sha256(element), this.#stream);
    return BigInt(`0x${this.#stream.reverse().toHex()}`);
  }
}

/** A change of a set: the products of the numbers of its inserted and of its removed elements. */
export interface MuHashChange {
  readonly inserted: bigint;
  readonly removed: bigint;
}

/** The value of a set whose hash is `muhashDigest` of it: the product of the numbers of its elements. */
export type MuHashValue = bigint;

export const EMPTY_MUHASH: MuHashValue = 1n;

/** Returns the hash of a set, 32 bytes in wire order. */
export function muhashDigest(value: MuHashValue): Uint8Array {
  return sha256(encodeMuHash(value));
}

/** Encodes the value of a set in 384 bytes. */
export function encodeMuHash(value: MuHashValue): Uint8Array {
  return Uint8Array.fromHex(value.toString(16).padStart(BYTES * 2, '0')).reverse();
}

/** Decodes what `encodeMuHash` returns. */
export function decodeMuHash(bytes: Uint8Array): MuHashValue {
  return BigInt(`0x${bytes.slice().reverse().toHex()}`);
}

/**
 * Returns the value of a set after each of its changes. An inversion costs as much as a few hundred multiplications, so
 * there is one for all changes: the inverse of a factor is that of the whole product times the other factors.
 */
export function muhashValues(start: MuHashValue, changes: readonly MuHashChange[]): MuHashValue[] {
  const products = [1n];
  for (const { removed } of changes) products.push(multiply(products.at(-1)!, removed));
  let inverted = inverse(products.at(-1)! % MODULUS);
  const inverses: bigint[] = [];
  for (let i = changes.length - 1; i >= 0; i--) {
    inverses[i] = multiply(inverted, products[i]!);
    inverted = multiply(inverted, changes[i]!.removed);
  }
  let value = start;
  return changes.map(({ inserted }, i) => {
    value = multiply(multiply(value, inserted), inverses[i]!);
    if (value >= MODULUS) value -= MODULUS;
    return value;
  });
}

/** Multiplies; the result has 3,072 bits but may be equal to the modulus or slightly more. */
function multiply(a: bigint, b: bigint): bigint {
  // 2^3072 is congruent to the prime difference, so folding the upper half down is far cheaper than a division.
  let product = a * b;
  while (product >> BITS) product = (product & MASK) + (product >> BITS) * PRIME_DIFFERENCE;
  return product;
}

/** Returns the inverse by the extended Euclidean algorithm. */
function inverse(value: bigint): bigint {
  let [r0, r1] = [MODULUS, value];
  let [t0, t1] = [0n, 1n];
  while (r1 !== 0n) {
    const quotient = r0 / r1;
    [r0, r1] = [r1, r0 - quotient * r1];
    [t0, t1] = [t1, t0 - quotient * t1];
  }
  return t0 < 0n ? t0 + MODULUS : t0;
}
