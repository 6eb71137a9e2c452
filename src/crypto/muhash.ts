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
    const value = multiply(this.#numerator, inverse(this.#denominator % MODULUS)) % MODULUS;
    return sha256(Uint8Array.fromHex(value.toString(16).padStart(BYTES * 2, '0')).reverse());
  }

  #numberOf(element: Uint8Array): bigint {
    chacha20KeyStream(sha256(element), this.#stream);
    return BigInt(`0x${this.#stream.reverse().toHex()}`);
  }
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
