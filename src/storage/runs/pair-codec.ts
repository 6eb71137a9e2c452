/** Bytes that a pair occupies at most. */
export const MAX_PAIR_SIZE = 15;

/** Returns the number of bytes of a non-negative integer below 2^56; 0 for 0. */
function byteLength(value: number): number {
  if (value < 0x1_0000_0000) {
    if (value < 0x1_0000) return value < 0x100 ? (value === 0 ? 0 : 1) : 2;
    return value < 0x100_0000 ? 3 : 4;
  }
  if (value < 2 ** 40) return 5;
  return value < 2 ** 48 ? 6 : 7;
}

function putInteger(out: Uint8Array, at: number, value: number, length: number): number {
  let low = value >>> 0;
  const first = Math.min(length, 4);
  for (let i = 0; i < first; i++) {
    out[at + i] = low;
    low >>>= 8;
  }
  if (length > 4) {
    let high = Math.floor(value / 0x1_0000_0000);
    for (let i = 4; i < length; i++) {
      out[at + i] = high;
      high >>>= 8;
    }
  }
  return at + length;
}

/** Returns the little-endian integer of up to seven bytes; it must be below 2^53. */
function readInteger(bytes: Uint8Array, at: number, length: number): number {
  let low = 0;
  for (let i = Math.min(length, 4) - 1; i >= 0; i--) low = (low << 8) | bytes[at + i]!;
  low >>>= 0;
  if (length <= 4) return low;
  let high = 0;
  for (let i = length - 1; i >= 4; i--) high = (high << 8) | bytes[at + i]!;
  return high * 0x1_0000_0000 + low;
}

/** Writes two non-negative integers below 2^53: a byte with both lengths, then their bytes. Returns the next offset. */
export function putPair(out: Uint8Array, at: number, first: number, second: number): number {
  const a = byteLength(first);
  const b = byteLength(second);
  out[at] = a | (b << 4);
  return putInteger(out, putInteger(out, at + 1, first, a), second, b);
}

/** Returns the number of bytes of the pair at `at`. */
export function pairSize(bytes: Uint8Array, at: number): number {
  return 1 + (bytes[at]! & 15) + (bytes[at]! >> 4);
}

export function pairFirst(bytes: Uint8Array, at: number): number {
  return readInteger(bytes, at + 1, bytes[at]! & 15);
}

export function pairSecond(bytes: Uint8Array, at: number): number {
  const first = bytes[at]! & 15;
  return readInteger(bytes, at + 1 + first, bytes[at]! >> 4);
}
