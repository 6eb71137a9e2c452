import { expand, extract } from '@noble/hashes/hkdf.js';
import { sha256 } from '@noble/hashes/sha2.js';

/** HKDF-SHA256 (RFC 5869) of a secret. Returns a function that derives 32 bytes for a context (`info`). */
export function hkdfSha256(secret: Uint8Array, salt: Uint8Array): (info: string) => Uint8Array {
  const key = extract(sha256, secret, salt);
  return (info) => expand(sha256, key, new TextEncoder().encode(info), 32);
}
