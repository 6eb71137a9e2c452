import { sign } from '@noble/secp256k1';
import { assert } from '../util/assert.ts';
import { derOfCompact } from './der.ts';
import { keyOperations } from './secp256k1.ts';
// Sets the hash functions of the library.
import './secp256k1-noble.ts';

/**
 * Returns a DER signature with low S and an r below 2^255, at most 70 bytes: one byte less than half of all signatures.
 * As in Core, signing is repeated with a counter as extra entropy until r is low, so the signatures are equal. Throws
 * on an invalid secret.
 */
export function signEcdsaLowR(msg32: Uint8Array, secret: Uint8Array): Uint8Array {
  const entropy = new Uint8Array(32);
  const counter = new DataView(entropy.buffer);
  let signature = signCompact(msg32, secret, null);
  for (let tries = 1; signature[0]! & 0x80; tries++) {
    counter.setUint32(0, tries, true);
    signature = signCompact(msg32, secret, entropy);
  }
  return derOfCompact(signature);
}

function signCompact(msg32: Uint8Array, secret: Uint8Array, entropy: Uint8Array | null): Uint8Array {
  const keys = keyOperations();
  if (keys === null)
    return sign(msg32, secret, { prehash: false, lowS: true, ...(entropy && { extraEntropy: entropy }) });
  const out = { signature: new Uint8Array(64), recid: 0 };
  const failed = entropy === null ? keys.ecdsaSign(out, msg32, secret) : keys.ecdsaSign(out, msg32, secret, entropy);
  assert(failed === 0, 'valid secret key');
  return out.signature;
}
