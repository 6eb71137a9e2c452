import { derOfCompact } from '../../src/crypto/der.ts';
import { signEcdsaCompact } from '../../src/crypto/keys.ts';

/** Signs with the nonce of RFC 6979. Returns DER with low S, and a high or low R. Throws on an invalid secret. */
export function signEcdsa(msg32: Uint8Array, secret: Uint8Array): Uint8Array {
  return derOfCompact(signEcdsaCompact(msg32, secret).signature);
}
