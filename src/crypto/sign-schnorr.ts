import { schnorr } from '@noble/secp256k1';
import { assert } from '../util/assert.ts';
import { reduceModOrder } from './curve.ts';
import { secretTaggedHasher, taggedHasher } from './hash.ts';
import { evenSecretOf, isValidSecret, publicKeyOf } from './keys.ts';
import { signatureEngine } from './secp256k1.ts';
import { nativeSecp256k1 } from './secp256k1-native.ts';
import { tweakAddSecret, tweakMulSecret } from './tweak.ts';

const auxiliaryHash = secretTaggedHasher('BIP0340/aux');
const nonceHash = secretTaggedHasher('BIP0340/nonce');
const challengeHash = taggedHasher('BIP0340/challenge');

/**
 * BIP-340, 64 bytes. `aux` are 32 random bytes unless given. Throws on an invalid secret. The arithmetic is the addon's, on
 * bytes that are overwritten; without the addon BigInts hold the secret.
 */
export function signSchnorr(
  msg32: Uint8Array,
  secret: Uint8Array,
  aux: Uint8Array = crypto.getRandomValues(new Uint8Array(32)),
): Uint8Array {
  if (nativeSecp256k1() === null) return schnorr.sign(msg32, secret, aux);
  const key = evenSecretOf(secret);
  const xOnlyKey = publicKeyOf(key).subarray(1);
  const mask = auxiliaryHash(aux);
  for (let i = 0; i < 32; i++) mask[i]! ^= key[i]!;
  const drawn = nonceHash(mask, xOnlyKey, msg32);
  reduceModOrder(drawn);
  // Zero comes of no hash.
  assert(isValidSecret(drawn), 'the nonce is not zero');
  const nonce = evenSecretOf(drawn);
  const signature = new Uint8Array(64);
  signature.set(publicKeyOf(nonce).subarray(1));
  const challenge = challengeHash(signature.subarray(0, 32), xOnlyKey, msg32);
  reduceModOrder(challenge);
  const product = tweakMulSecret(key, challenge);
  const s = product && tweakAddSecret(nonce, product);
  // The difference of nonce and signature reveals the key.
  for (const bytes of [key, mask, drawn, nonce, product]) bytes?.fill(0);
  assert(s !== null, 'neither the challenge nor the signature is zero');
  signature.set(s, 32);
  // A fault of the machine while it signs may tell the key too.
  assert(signatureEngine().verifySchnorr(signature, msg32, xOnlyKey), 'the signature is valid');
  return signature;
}
