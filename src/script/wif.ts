import { isValidSecret } from '../crypto/keys.ts';
import { concatBytes } from '../util/bytes.ts';
import { decodeBase58Check, encodeBase58Check } from './base58.ts';

export interface SecretKey {
  readonly secret: Uint8Array;
  /** Whether its public key is written with 33 bytes. */
  readonly compressed: boolean;
}

/** A secret key as wallets import it. `prefix` is the network's version byte. */
export function encodeWif({ secret, compressed }: SecretKey, prefix: number): string {
  return encodeBase58Check(concatBytes(Uint8Array.of(prefix), secret, new Uint8Array(compressed ? 1 : 0).fill(1)));
}

/** Null for anything but a valid key of the network with that version byte. */
export function decodeWif(text: string, prefix: number): SecretKey | null {
  const payload = decodeBase58Check(text, 34);
  if (payload === null || payload[0] !== prefix) return null;
  const compressed = payload.length === 34 && payload[33] === 1;
  if (!compressed && payload.length !== 33) return null;
  const secret = payload.slice(1, 33);
  return isValidSecret(secret) ? { secret, compressed } : null;
}
