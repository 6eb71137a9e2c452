import { getPublicKey, recoverPublicKey as recoverWithNoble, sign } from '@noble/secp256k1';
import { assert } from '../util/assert.ts';
import { secretCopy } from '../util/secret-bytes.ts';
import { bigIntToBytes32, bytesToBigInt, CURVE_ORDER, isSecretInRange } from './curve.ts';
import { randomSecretBytes } from './random-secret.ts';
import { keyOperations } from './secp256k1.ts';
import { tweakAddPublicKey, tweakAddSecret } from './tweak.ts';

export interface TweakedKey {
  readonly key: Uint8Array;
  /** Parity of Y: 0 even, 1 odd. */
  readonly parity: 0 | 1;
}

/** Whether bytes are a secret key: 32 bytes, not zero and below n. */
export function isValidSecret(secret: Uint8Array): boolean {
  return secret.length === 32 && isSecretInRange(secret);
}

/** Returns a secret key from the system's randomness. */
export function randomSecret(): Uint8Array {
  for (;;) {
    const secret = randomSecretBytes(32);
    if (isValidSecret(secret)) return secret;
  }
}

/** Returns the public key of a secret: 33 bytes, or 65 uncompressed. Throws on an invalid secret. */
export function publicKeyOf(secret: Uint8Array, compressed = true): Uint8Array {
  const keys = keyOperations();
  if (keys === null) return getPublicKey(secret, compressed);
  const out = new Uint8Array(compressed ? 33 : 65);
  assert(keys.publicKeyCreate(out, secret) === 0, 'valid secret key');
  return out;
}

/**
 * Returns an ECDSA signature of 64 bytes with low S, and the recovery id of signed messages. Throws on an invalid
 * secret.
 */
export function signEcdsaCompact(msg32: Uint8Array, secret: Uint8Array): { signature: Uint8Array; recoveryId: number } {
  const keys = keyOperations();
  if (keys === null) {
    const recovered = sign(msg32, secret, { prehash: false, lowS: true, format: 'recovered' });
    return { signature: recovered.slice(1), recoveryId: recovered[0]! };
  }
  const out = { signature: new Uint8Array(64), recid: 0 };
  assert(keys.ecdsaSign(out, msg32, secret) === 0, 'valid secret key');
  return { signature: out.signature, recoveryId: out.recid };
}

/** Returns the X coordinate of a secret's public key, as in BIP-340 and BIP-341. */
export function xOnlyOf(secret: Uint8Array): Uint8Array {
  return publicKeyOf(secret).slice(1);
}

/**
 * Returns the output key of `internalKey32` (BIP-341, taproot_tweak_pubkey); null if the key is off the curve or the
 * tweak out of range.
 */
export function tapTweakPublicKey(internalKey32: Uint8Array, tweak32: Uint8Array): TweakedKey | null {
  const even = new Uint8Array(33);
  even[0] = 2;
  even.set(internalKey32, 1);
  const tweaked = tweakAddPublicKey(even, tweak32);
  return tweaked && { key: tweaked.slice(1), parity: tweaked[0] === 3 ? 1 : 0 };
}

/**
 * Returns a copy of the secret or of its negative, whichever has a public key with an even Y. Throws on an invalid
 * secret.
 */
export function evenSecretOf(secret: Uint8Array): Uint8Array {
  const odd = publicKeyOf(secret)[0] === 3;
  const keys = keyOperations();
  const even = keys || !odd ? secretCopy(secret) : bigIntToBytes32(CURVE_ORDER - bytesToBigInt(secret));
  if (keys && odd) keys.privateKeyNegate(even);
  return even;
}

/** Returns the secret of a taproot output key (BIP-341, taproot_tweak_seckey). Throws if the tweak is invalid. */
export function tapTweakSecret(secret: Uint8Array, tweak32: Uint8Array): Uint8Array {
  const even = evenSecretOf(secret);
  const tweaked = tweakAddSecret(even, tweak32);
  even.fill(0);
  assert(tweaked !== null, 'tweak below the order of the curve, and a sum that is not zero');
  return tweaked;
}

/** Returns the public key that made an ECDSA signature, or null. `recoveryId` is 0 to 3. */
export function recoverPublicKey(
  msg32: Uint8Array,
  signature64: Uint8Array,
  recoveryId: number,
  compressed = true,
): Uint8Array | null {
  const keys = keyOperations();
  const out = new Uint8Array(compressed ? 33 : 65);
  if (keys !== null) return keys.ecdsaRecover(out, signature64, recoveryId, msg32) === 0 ? out : null;
  try {
    const signature = new Uint8Array(65);
    signature[0] = recoveryId;
    signature.set(signature64, 1);
    return recoverWithNoble(signature, msg32, { prehash: false, isCompressed: compressed });
  } catch {
    return null;
  }
}
