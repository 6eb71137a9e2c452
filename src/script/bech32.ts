/** Bech32 (BIP-173) or Bech32m (BIP-350). */
export type Bech32Encoding = 'bech32' | 'bech32m';

export interface Bech32 {
  readonly encoding: Bech32Encoding;
  readonly hrp: string;
  /** Groups of 5 bits, without the checksum. */
  readonly data: Uint8Array;
}

const BECH32_CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
export const BECH32_CHECKSUM_SIZE = 6;
/** BIP-173: maximum length, up to which the checksum detects errors as specified. */
export const BECH32_MAX_LENGTH = 90;

const CHECKSUM_CONSTANT: Record<Bech32Encoding, number> = { bech32: 1, bech32m: 0x2bc830a3 };

const VALUES = new Int8Array(128).fill(-1);
for (let i = 0; i < 32; i++) {
  VALUES[BECH32_CHARSET.charCodeAt(i)] = i;
  VALUES[BECH32_CHARSET[i]!.toUpperCase().charCodeAt(0)] = i;
}

/** Returns the value of a character of the data part in either case; -1 for others. */
export function bech32Value(code: number): number {
  return VALUES[code] ?? -1;
}

function polymodStep(checksum: number, value: number): number {
  const top = checksum >>> 25;
  let next = ((checksum & 0x1ffffff) << 5) ^ value;
  if (top & 1) next ^= 0x3b6a57b2;
  if (top & 2) next ^= 0x26508e6d;
  if (top & 4) next ^= 0x1ea119fa;
  if (top & 8) next ^= 0x3d4233dd;
  if (top & 16) next ^= 0x2a1462b3;
  return next;
}

function hrpPolymod(hrp: string): number {
  let checksum = 1;
  for (let i = 0; i < hrp.length; i++) checksum = polymodStep(checksum, hrp.charCodeAt(i) >> 5);
  checksum = polymodStep(checksum, 0);
  for (let i = 0; i < hrp.length; i++) checksum = polymodStep(checksum, hrp.charCodeAt(i) & 31);
  return checksum;
}

/**
 * Returns the difference of the checksum from the expected one; 0 if it is valid. `values` include the checksum; `hrp`
 * is lower case.
 */
export function bech32Residue(hrp: string, values: Uint8Array, encoding: Bech32Encoding): number {
  let checksum = hrpPolymod(hrp);
  for (const value of values) checksum = polymodStep(checksum, value);
  return checksum ^ CHECKSUM_CONSTANT[encoding];
}

/** Encodes `data`, groups of 5 bits. `hrp` is lower case. */
export function encodeBech32(encoding: Bech32Encoding, hrp: string, data: Uint8Array): string {
  let text = `${hrp}1`;
  let checksum = hrpPolymod(hrp);
  for (const value of data) {
    text += BECH32_CHARSET[value]!;
    checksum = polymodStep(checksum, value);
  }
  for (let i = 0; i < BECH32_CHECKSUM_SIZE; i++) checksum = polymodStep(checksum, 0);
  checksum ^= CHECKSUM_CONSTANT[encoding];
  for (let i = BECH32_CHECKSUM_SIZE - 1; i >= 0; i--) text += BECH32_CHARSET[(checksum >>> (5 * i)) & 31]!;
  return text;
}

/** Decodes a string; null if it is malformed or neither checksum is valid. */
export function decodeBech32(text: string): Bech32 | null {
  if (text.length > BECH32_MAX_LENGTH || misplacedCharacters(text).length > 0) return null;
  const separator = text.lastIndexOf('1');
  if (separator < 1 || separator + BECH32_CHECKSUM_SIZE >= text.length) return null;
  const values = new Uint8Array(text.length - 1 - separator);
  for (let i = 0; i < values.length; i++) {
    const value = bech32Value(text.charCodeAt(separator + 1 + i));
    if (value < 0) return null;
    values[i] = value;
  }
  const hrp = text.slice(0, separator).toLowerCase();
  const data = values.subarray(0, values.length - BECH32_CHECKSUM_SIZE);
  if (bech32Residue(hrp, values, 'bech32') === 0) return { encoding: 'bech32', hrp, data };
  if (bech32Residue(hrp, values, 'bech32m') === 0) return { encoding: 'bech32m', hrp, data };
  return null;
}

/**
 * Returns the positions of characters outside of printable ASCII, and of letters whose case differs from the first
 * letter's.
 */
export function misplacedCharacters(text: string): number[] {
  const misplaced: number[] = [];
  let lower = false;
  let upper = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x61 && code <= 0x7a) {
      if (upper) misplaced.push(i);
      else lower = true;
    } else if (code >= 0x41 && code <= 0x5a) {
      if (lower) misplaced.push(i);
      else upper = true;
    } else if (code < 33 || code > 126) misplaced.push(i);
  }
  return misplaced;
}

/** Converts bytes to groups of 5 bits; the last is padded with zeros. */
export function bytesToGroups(bytes: Uint8Array): Uint8Array {
  const groups = new Uint8Array(Math.ceil((bytes.length * 8) / 5));
  let buffer = 0;
  let bits = 0;
  let at = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      groups[at++] = (buffer >>> bits) & 31;
    }
  }
  if (bits > 0) groups[at] = (buffer << (5 - bits)) & 31;
  return groups;
}

/** Converts groups of 5 bits to bytes; null if the padding is not zero or is a whole group. */
export function groupsToBytes(groups: Uint8Array): Uint8Array | null {
  const bytes = new Uint8Array(Math.floor((groups.length * 5) / 8));
  let buffer = 0;
  let bits = 0;
  let at = 0;
  for (const group of groups) {
    buffer = ((buffer << 5) | group) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (buffer >>> bits) & 0xff;
    }
  }
  return bits >= 5 || ((buffer << (8 - bits)) & 0xff) !== 0 ? null : bytes;
}
