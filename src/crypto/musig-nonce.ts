import { inspect } from 'node:util';
import { assert } from '../util/assert.ts';
import { concatBytes, equalBytes } from '../util/bytes.ts';
import { secretBytes, secretCopy } from '../util/secret-bytes.ts';
import { reduceModOrder } from './curve.ts';
import { secretTaggedHasher } from './hash-functions.ts';
import { isValidSecret, publicKeyOf } from './keys.ts';
import { randomSecretBytes } from './random-secret.ts';

const auxiliaryHash = secretTaggedHasher('MuSig/aux');
const nonceHash = secretTaggedHasher('MuSig/nonce');

const SECRET_NONCE_SIZE = 97;

/** Inputs of BIP-327's NonceGen. Optional ones protect against the reuse of a nonce with bad randomness. */
export interface MusigNonceUse {
  /** Secret key of the signer (sk); null if it is not available, so that the nonce depends on randomness alone. */
  readonly secret: Uint8Array | null;
  /** Compressed public key of the signer (pk). */
  readonly publicKey: Uint8Array;
  /** X-only aggregate key, 32 bytes (aggpk). */
  readonly aggregateKey: Uint8Array | null;
  readonly message: Uint8Array | null;
  readonly extra: Uint8Array | null;
}

export interface MusigNonce {
  readonly secretNonce: MusigSecretNonce;
  /** Public nonce for the other signers, 66 bytes (pubnonce). */
  readonly publicNonce: Uint8Array;
}

/**
 * A secret nonce (secnonce) for one partial signature: two signatures with the same nonce reveal the secret key. It
 * does not show in logs, errors or JSON.
 */
export class MusigSecretNonce {
  readonly #bytes: Uint8Array;

  /** `bytes`: secnonce of BIP-327, 97 bytes: k_1, k_2 and the signer's compressed key. The object owns them. */
  constructor(bytes: Uint8Array) {
    assert(bytes.length === SECRET_NONCE_SIZE, 'a secret nonce has 97 bytes');
    this.#bytes = bytes;
  }

  /**
   * Calls `sign` with k_1 and k_2 and wipes them, so that no other call gets them. Throws if the nonce was used or
   * wiped before, or belongs to another signer; it is wiped in this case too.
   */
  use<T>(publicKey: Uint8Array, sign: (k1: Uint8Array, k2: Uint8Array) => T): T {
    const k1 = secretCopy(this.#bytes.subarray(0, 32));
    const k2 = secretCopy(this.#bytes.subarray(32, 64));
    const isOwn = equalBytes(this.#bytes.subarray(64), publicKey);
    this.wipe();
    try {
      assert(isValidSecret(k1) && isValidSecret(k2), 'a secret nonce is used once');
      assert(isOwn, 'a secret nonce is used by the signer it was made for');
      return sign(k1, k2);
    } finally {
      k1.fill(0);
      k2.fill(0);
    }
  }

  /** Overwrites the scalars; the nonce cannot be used afterwards. */
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

/** BIP-327's NonceGen with 32 bytes of the system's randomness. */
export function newMusigNonce(use: MusigNonceUse): MusigNonce {
  const random = randomSecretBytes(32);
  try {
    return musigNonceOf(random, use);
  } finally {
    random.fill(0);
  }
}

/** BIP-327's NonceGen with given randomness (rand'), which must never have been used before. */
export function musigNonceOf(random: Uint8Array, use: MusigNonceUse): MusigNonce {
  const { secret, publicKey, aggregateKey, message, extra } = use;
  // rand = sk xor hash_MuSig/aux(rand'), or rand = rand' without sk
  const rand = secret === null ? secretCopy(random) : auxiliaryHash(random);
  if (secret !== null) for (let i = 0; i < 32; i++) rand[i]! ^= secret[i]!;
  // len(pk) || pk || len(aggpk) || aggpk || m_prefixed || len(extra_in) || extra_in
  const rest = concatBytes(
    withLength(1, publicKey),
    withLength(1, aggregateKey),
    message === null ? Uint8Array.of(0) : concatBytes(Uint8Array.of(1), withLength(8, message)),
    withLength(4, extra),
  );
  const bytes = secretBytes(SECRET_NONCE_SIZE);
  bytes.set(publicKey, 64);
  // k_i = int(hash_MuSig/nonce(rand || … || bytes(1, i - 1))) mod n; R_*,i = k_i*G
  const publicNonces = [0, 1].map((i) => {
    const k = nonceHash(rand, rest, Uint8Array.of(i));
    reduceModOrder(k);
    bytes.set(k, 32 * i);
    // Throws on zero, which a hash is with negligible probability.
    const R = publicKeyOf(k);
    k.fill(0);
    return R;
  });
  rand.fill(0);
  return { secretNonce: new MusigSecretNonce(bytes), publicNonce: concatBytes(...publicNonces) };
}

/** Prefixes bytes with their length in `size` big-endian bytes; null counts as an empty array. */
function withLength(size: 1 | 4 | 8, bytes: Uint8Array | null): Uint8Array {
  const length = new Uint8Array(size);
  for (let i = size - 1, left = bytes?.length ?? 0; i >= 0; i--, left = Math.floor(left / 256)) length[i] = left % 256;
  return bytes === null ? length : concatBytes(length, bytes);
}
