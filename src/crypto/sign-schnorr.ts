import { schnorr } from '@noble/secp256k1';
import { assert } from '../util/assert.ts';
import { reduceModOrder } from './curve.ts';
import { secretTaggedHasher, taggedHasher } from './hash-functions.ts';
import { evenSecretOf, isValidSecret, publicKeyOf } from './keys.ts';
import { keyOperations, signatureEngine } from './secp256k1.ts';
import { tweakAddSecret, tweakMulSecret } from './tweak.ts';

const auxiliaryHash = secretTaggedHasher('BIP0340/aux');
const nonceHash = secretTaggedHasher('BIP0340/nonce');
const challengeHash = taggedHasher('BIP0340/challenge');

/**
 * Returns a BIP-340 signature of 64 bytes, with the BIP's letters. `aux`: 32 bytes, random by default. Throws on an
 * invalid secret. The addon computes on bytes that are overwritten; without it BigInts hold the secret.
 */
export function signSchnorr(
  msg32: Uint8Array,
  secret: Uint8Array,
  aux: Uint8Array = crypto.getRandomValues(new Uint8Array(32)),
): Uint8Array {
  if (keyOperations() === null) return schnorr.sign(msg32, secret, aux);
  // d = d' if has_even_y(P), else n - d', where P = d'*G
  const d = evenSecretOf(secret);
  const P = publicKeyOf(d).subarray(1);
  // t = bytes(d) xor hash_BIP0340/aux(a)
  const t = auxiliaryHash(aux);
  for (let i = 0; i < 32; i++) t[i]! ^= d[i]!;
  // k' = int(hash_BIP0340/nonce(t || bytes(P) || m)) mod n
  const drawn = nonceHash(t, P, msg32);
  reduceModOrder(drawn);
  // A hash is zero with negligible probability.
  assert(isValidSecret(drawn), 'the nonce is not zero');
  // k = k' if has_even_y(R), else n - k', where R = k'*G
  const k = evenSecretOf(drawn);
  const signature = new Uint8Array(64);
  signature.set(publicKeyOf(k).subarray(1));
  // e = int(hash_BIP0340/challenge(bytes(R) || bytes(P) || m)) mod n
  const e = challengeHash(signature.subarray(0, 32), P, msg32);
  reduceModOrder(e);
  // sig = bytes(R) || bytes((k + e*d) mod n)
  const ed = tweakMulSecret(d, e);
  const s = ed && tweakAddSecret(k, ed);
  // The nonce or e*d together with the signature reveals the key.
  for (const bytes of [d, t, drawn, k, ed]) bytes?.fill(0);
  assert(s !== null, 'neither the challenge nor the signature is zero');
  signature.set(s, 32);
  // A hardware fault while signing may reveal the key as well.
  assert(signatureEngine().verifySchnorr(signature, msg32, P), 'the signature is valid');
  return signature;
}
