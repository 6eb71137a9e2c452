/** Maximum size of a number as an operand, bytes; results may be one byte longer. */
const MAX_OPERAND_SIZE = 4;

/**
 * Decodes a script number: little-endian with a sign bit; empty is zero. Null if it is longer than `maxSize`, or not
 * minimal where that is required.
 */
export function readScriptNum(bytes: Uint8Array, requireMinimal: boolean, maxSize = MAX_OPERAND_SIZE): number | null {
  const length = bytes.length;
  if (length > maxSize) return null;
  if (length === 0) return 0;
  const last = bytes[length - 1]!;
  // A last byte without magnitude is minimal only if the byte before it has the top bit set.
  if (requireMinimal && (last & 0x7f) === 0 && (length === 1 || (bytes[length - 2]! & 0x80) === 0)) return null;
  // Without shifts, since five bytes exceed 32 bits.
  let value = last & 0x7f;
  for (let i = length - 2; i >= 0; i--) value = value * 256 + bytes[i]!;
  // Negative zero decodes as 0.
  return last & 0x80 && value !== 0 ? -value : value;
}

const SMALL: Uint8Array[] = [];
for (let n = -1; n <= 16; n++) SMALL.push(encode(n));

/** Encodes a number minimally. The result may be shared and must not be modified. */
export function scriptNumBytes(value: number): Uint8Array {
  return value >= -1 && value <= 16 ? SMALL[value + 1]! : encode(value);
}

function encode(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = Math.abs(value); rest > 0; rest = Math.floor(rest / 256)) bytes.push(rest % 256);
  const last = bytes.length - 1;
  if (last >= 0) {
    if (bytes[last]! & 0x80) bytes.push(value < 0 ? 0x80 : 0);
    else if (value < 0) bytes[last]! |= 0x80;
  }
  return new Uint8Array(bytes);
}
