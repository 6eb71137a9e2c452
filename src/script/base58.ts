import { hash256 } from '../crypto/hash.ts';
import { equalBytes } from '../util/bytes.ts';
import { secretBytes } from '../util/secret-bytes.ts';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const CHECKSUM_SIZE = 4;

const VALUES = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) VALUES[ALPHABET.charCodeAt(i)] = i;

export function encodeBase58(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros++;
  // Least significant digit first; 138/100 is a little more than log(256)/log(58).
  const digits = new Uint8Array(Math.floor(((bytes.length - zeros) * 138) / 100) + 1);
  let length = 0;
  for (let i = zeros; i < bytes.length; i++) {
    let carry = bytes[i]!;
    let at = 0;
    for (; carry !== 0 || at < length; at++) {
      carry += digits[at]! * 256;
      digits[at] = carry % 58;
      carry = Math.floor(carry / 58);
    }
    length = at;
  }
  let text = '1'.repeat(zeros);
  for (let at = length - 1; at >= 0; at--) text += ALPHABET[digits[at]!]!;
  // Private keys are written in base58 too.
  digits.fill(0);
  return text;
}

/** The bytes, or null for a character of another alphabet or more than `maxLength` bytes. Spaces around are skipped. */
export function decodeBase58(text: string, maxLength: number): Uint8Array | null {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  let zeros = 0;
  while (start + zeros < end && text[start + zeros] === '1') zeros++;
  if (zeros > maxLength) return null;
  // Least significant byte first. The limit is tested on the way: a long text must not cost its square.
  const bytes = secretBytes(maxLength + 1);
  let length = 0;
  for (let i = start + zeros; i < end; i++) {
    let carry = VALUES[text.charCodeAt(i)] ?? -1;
    if (carry < 0) return null;
    let at = 0;
    for (; carry !== 0 || at < length; at++) {
      carry += bytes[at]! * 58;
      bytes[at] = carry & 0xff;
      carry >>= 8;
    }
    length = at;
    if (length + zeros > maxLength) return null;
  }
  const out = secretBytes(zeros + length);
  for (let at = 0; at < length; at++) out[zeros + at] = bytes[length - 1 - at]!;
  bytes.fill(0);
  return out;
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/** With the first four bytes of the double hash behind it. */
export function encodeBase58Check(payload: Uint8Array): string {
  const bytes = secretBytes(payload.length + CHECKSUM_SIZE);
  bytes.set(payload);
  bytes.set(hash256(payload).subarray(0, CHECKSUM_SIZE), payload.length);
  const text = encodeBase58(bytes);
  bytes.fill(0);
  return text;
}

/** The payload, or null where the text is no base58, the checksum is wrong, or it is longer than `maxLength`. */
export function decodeBase58Check(text: string, maxLength: number): Uint8Array | null {
  const bytes = decodeBase58(text, maxLength + CHECKSUM_SIZE);
  if (bytes === null || bytes.length < CHECKSUM_SIZE) return null;
  const split = bytes.length - CHECKSUM_SIZE;
  const payload = bytes.subarray(0, split);
  return equalBytes(hash256(payload).subarray(0, CHECKSUM_SIZE), bytes.subarray(split)) ? payload : null;
}
