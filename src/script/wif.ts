import { isValidSecret } from '../crypto/keys.ts';
import { secretConcat, secretCopy } from '../util/secret-bytes.ts';
import { decodeBase58Check, encodeBase58Check } from './base58.ts';

export interface SecretKey {
  readonly secret: Uint8Array;
  /** Whether its public key is compressed to 33 bytes. */
  readonly compressed: boolean;
}

/** Encodes a secret key in wallet import format. `prefix` is the network's version byte. */
export function encodeWif({ secret, compressed }: SecretKey, prefix: number): string {
  const payload = secretConcat(Uint8Array.of(prefix), secret, new Uint8Array(compressed ? 1 : 0).fill(1));
  const text = encodeBase58Check(payload);
  payload.fill(0);
  return text;
}

/** Decodes a WIF key; null if it is invalid or of another network. The caller must overwrite the secret. */
export function decodeWif(text: string, prefix: number): SecretKey | null {
  const payload = decodeBase58Check(text, 34);
  if (payload === null) return null;
  const compressed = payload.length === 34 && payload[33] === 1;
  const isKey =
    payload[0] === prefix && (compressed || payload.length === 33) && isValidSecret(payload.subarray(1, 33));
  const secret = isKey ? secretCopy(payload.subarray(1, 33)) : null;
  payload.fill(0);
  return secret && { secret, compressed };
}
