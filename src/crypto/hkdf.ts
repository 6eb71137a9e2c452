import { concatBytes } from '../util/bytes.ts';

/** HMAC-SHA256, 32 bytes. */
function hmacSha256(key: Uint8Array, data: Uint8Array): Uint8Array {
  return new Uint8Array(new Bun.CryptoHasher('sha256', key).update(data).digest());
}

/** HKDF-SHA256 (RFC 5869) of one secret: takes the name of what is wanted (`info`) and yields its 32 bytes. */
export function hkdfSha256(secret: Uint8Array, salt: Uint8Array): (info: string) => Uint8Array {
  const extracted = hmacSha256(salt, secret);
  // 32 bytes are one block of the expansion, and its number is appended.
  return (info) => hmacSha256(extracted, concatBytes(new TextEncoder().encode(info), Uint8Array.of(1)));
}
