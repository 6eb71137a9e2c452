import { inspect } from 'node:util';
import { assert } from '../util/assert.ts';
import { concatBytes, equalBytes } from '../util/bytes.ts';
import { secretBytes, secretCopy } from '../util/secret-bytes.ts';
import { reduceModOrder } from './curve.ts';
import { secretTaggedHasher } from './hash.ts';
import { isValidSecret, publicKeyOf } from './keys.ts';
import { randomSecretBytes } from './random-secret.ts';

const auxiliaryHash = secretTaggedHasher('MuSig/aux');
const nonceHash = secretTaggedHasher('MuSig/nonce');

const SECRET_NONCE_SIZE = 97;

/** What a nonce is for. The more of it is known the better it is kept from being used for anything else. */
export interface MusigNonceUse {
  /** Null where it is not at hand, which leaves randomness alone to make the nonce. */
  readonly secret: Uint8Array | null;
  /** Compressed, of the signer. */
  readonly publicKey: Uint8Array;
  /** 32 bytes of X. */
  readonly aggregateKey: Uint8Array | null;
  readonly message: Uint8Array | null;
  readonly extra: Uint8Array | null;
}

export interface MusigNonce {
  readonly secretNonce: MusigSecretNonce;
  /** 66 bytes, for the other signers. */
  readonly publicNonce: Uint8Array;
}

/**
 * Half of a signature in the making, good for one partial signature: two of them with the same nonce tell the secret
 * key. No log, error or JSON shows it.
 */
export class MusigSecretNonce {
  readonly #bytes: Uint8Array;

  /** Takes over 97 bytes as BIP-327 writes them: two scalars and the signer's compressed key. */
  constructor(bytes: Uint8Array) {
    assert(bytes.length === SECRET_NONCE_SIZE, 'a secret nonce has 97 bytes');
    this.#bytes = bytes;
  }

  /**
   * Calls back with the two scalars and wipes them, so that no other call gets them. Throws where the nonce was used or
   * wiped before, or is not of this signer; it is wiped then too.
   */
  use<T>(publicKey: Uint8Array, sign: (first: Uint8Array, second: Uint8Array) => T): T {
    const first = secretCopy(this.#bytes.subarray(0, 32));
    const second = secretCopy(this.#bytes.subarray(32, 64));
    const isOwn = equalBytes(this.#bytes.subarray(64), publicKey);
    this.wipe();
    try {
      assert(isValidSecret(first) && isValidSecret(second), 'a secret nonce is used once');
      assert(isOwn, 'a secret nonce is used by the signer it was made for');
      return sign(first, second);
    } finally {
      first.fill(0);
      second.fill(0);
    }
  }

  /** Overwrites the scalars; the nonce is of no use after. */
  wipe(): void {
    this.#bytes.fill(0, 0, 64);
  }

  toString(): string {
    return '[secret nonce]';
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/** BIP-327's NonceGen, with 32 fresh bytes of the system's randomness. */
export function newMusigNonce(use: MusigNonceUse): MusigNonce {
  const random = randomSecretBytes(32);
  try {
    return musigNonceOf(random, use);
  } finally {
    random.fill(0);
  }
}

/** The same with given randomness, which must never have been used before. */
export function musigNonceOf(random: Uint8Array, use: MusigNonceUse): MusigNonce {
  const { secret, publicKey, aggregateKey, message, extra } = use;
  const seed = secret === null ? secretCopy(random) : auxiliaryHash(random);
  if (secret !== null) for (let i = 0; i < 32; i++) seed[i]! ^= secret[i]!;
  const rest = concatBytes(
    withLength(1, publicKey),
    withLength(1, aggregateKey),
    message === null ? Uint8Array.of(0) : concatBytes(Uint8Array.of(1), withLength(8, message)),
    withLength(4, extra),
  );
  const bytes = secretBytes(SECRET_NONCE_SIZE);
  bytes.set(publicKey, 64);
  const publicNonces = [0, 1].map((i) => {
    const scalar = nonceHash(seed, rest, Uint8Array.of(i));
    reduceModOrder(scalar);
    bytes.set(scalar, 32 * i);
    // Throws on zero, which no hash is.
    const publicNonce = publicKeyOf(scalar);
    scalar.fill(0);
    return publicNonce;
  });
  seed.fill(0);
  return { secretNonce: new MusigSecretNonce(bytes), publicNonce: concatBytes(...publicNonces) };
}

/** The bytes behind their number in so many big-endian bytes; none count as an empty array. */
function withLength(size: 1 | 4 | 8, bytes: Uint8Array | null): Uint8Array {
  const length = new Uint8Array(size);
  for (let i = size - 1, left = bytes?.length ?? 0; i >= 0; i--, left = Math.floor(left / 256)) length[i] = left % 256;
  return bytes === null ? length : concatBytes(length, bytes);
}
