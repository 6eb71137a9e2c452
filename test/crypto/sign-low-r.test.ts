import { expect, test } from 'bun:test';
import { sign } from '@noble/secp256k1';
import { derOfCompact } from '../../src/crypto/der.ts';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import { publicKeyOf } from '../../src/crypto/keys.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { signEcdsaLowR } from '../../src/crypto/sign-low-r.ts';

/** Core's method on the other library: a little-endian counter as extra entropy until R is low. */
function referenceSignature(message: Uint8Array, secret: Uint8Array): Uint8Array {
  const extraEntropy = new Uint8Array(32);
  let signature = sign(message, secret, { prehash: false });
  for (let tries = 1; signature[0]! >= 0x80; tries++) {
    extraEntropy[0] = tries;
    signature = sign(message, secret, { prehash: false, extraEntropy });
  }
  return derOfCompact(signature);
}

test('a signature is at most 70 bytes, valid, and the same on both libraries', () => {
  let longest = 0;
  for (let i = 0; i < 40; i++) {
    const message = sha256(Uint8Array.of(i));
    const secret = sha256(Uint8Array.of(i, 1));
    const signature = signEcdsaLowR(message, secret);
    longest = Math.max(longest, signature.length);
    expect(signatureEngine().verifyEcdsa(signature, message, publicKeyOf(secret))).toBe(true);
    expect(signature).toEqual(referenceSignature(message, secret));
  }
  expect(longest).toBe(70);
});
