import { base58 } from '@scure/base';
import { hash256 } from '../crypto/hash-functions.ts';
import { equalBytes } from '../util/bytes.ts';
import { secretBytes, secretCopy } from '../util/secret-bytes.ts';

const CHECKSUM_SIZE = 4;
/** log(256) / log(58), rounded up: base58 characters for each byte. */
const CHARACTERS_PER_BYTE = 1.3658;

/**
 * Returns the bytes of a base58 text; null if it contains a character outside of the alphabet or encodes more than
 * `maxLength` bytes. Whitespace around it is skipped, as in Core.
 */
export function decodeBase58(text: string, maxLength: number): Uint8Array | null {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  // The time of decoding grows with the square of the length.
  if (end - start > Math.floor(maxLength * CHARACTERS_PER_BYTE) + 1) return null;
  let decoded: Uint8Array;
  try {
    decoded = base58.decode(text.slice(start, end));
  } catch {
    return null;
  }
  const bytes = decoded.length <= maxLength ? secretCopy(decoded) : null;
  decoded.fill(0);
  return bytes;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/** Returns the payload followed by the first four bytes of its double hash, in base58. */
export function encodeBase58Check(payload: Uint8Array): string {
  // Private keys are written in base58 too.
  const bytes = secretBytes(payload.length + CHECKSUM_SIZE);
  bytes.set(payload);
  bytes.set(hash256(payload).subarray(0, CHECKSUM_SIZE), payload.length);
  const text = base58.encode(bytes);
  bytes.fill(0);
  return text;
}

/** Returns the payload; null if the text is not base58, its checksum is wrong or it is longer than `maxLength` bytes. */
export function decodeBase58Check(text: string, maxLength: number): Uint8Array | null {
  const bytes = decodeBase58(text, maxLength + CHECKSUM_SIZE);
  if (bytes === null || bytes.length < CHECKSUM_SIZE) return null;
  const split = bytes.length - CHECKSUM_SIZE;
  const payload = bytes.subarray(0, split);
  return equalBytes(hash256(payload).subarray(0, CHECKSUM_SIZE), bytes.subarray(split)) ? payload : null;
}
