import { randomBytes } from 'node:crypto';
import { base32nopad } from '@scure/base';
import { sha256 } from '../crypto/hash-functions.ts';

/** `obv1_<id>_<secret><check>`, in lower-case base32 (RFC 4648, no padding). */
const FORMAT = /^(obv1_([a-z2-7]{10})_([a-z2-7]{52}))([a-z2-7]{6})$/;
/** Number of characters of each key. */
export const KEY_LENGTH = 74;
const ID_BYTES = 7;
const SECRET_BYTES = 32;

export interface KeyParts {
  /** The public part, which identifies the key in lists and logs. */
  readonly id: string;
  readonly secret: string;
}

/** Returns null when the text is not a key, or its checksum reveals a typing error. */
export function parseApiKey(text: string): KeyParts | null {
  const match = FORMAT.exec(text);
  if (!match || checkPart(match[1]!) !== match[4]) return null;
  return { id: match[2]!, secret: match[3]! };
}

/** Returns the text of a new key, for a new id or for another secret of a known one. */
export function makeKey(id: string = base32(randomBytes(ID_BYTES)).slice(0, 10)): { text: string; parts: KeyParts } {
  const secret = base32(randomBytes(SECRET_BYTES));
  const body = `obv1_${id}_${secret}`;
  return { text: body + checkPart(body), parts: { id, secret } };
}

/** Returns the stored hash of a secret. A secret has 256 random bits, so a slow hash would add nothing. */
export function secretHash(secret: string): Uint8Array {
  return sha256(new TextEncoder().encode(secret));
}

/** Returns the first 30 bits of the SHA-256 of `body`. */
function checkPart(body: string): string {
  return base32(sha256(new TextEncoder().encode(body))).slice(0, 6);
}

function base32(bytes: Uint8Array): string {
  return base32nopad.encode(bytes).toLowerCase();
}
