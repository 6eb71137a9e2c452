/** Bytes a number may have as the operand of an opcode; results may have one more. */
const MAX_OPERAND_SIZE = 4;

/**
 * The number that stack bytes mean: little-endian with a sign bit, empty is zero. Null where they are longer than
 * `maxSize`, or not the shortest form where that is required.
 */
export function readScriptNum(bytes: Uint8Array, requireMinimal: boolean, maxSize = MAX_OPERAND_SIZE): number | null {
  const length = bytes.length;
  if (length > maxSize) return null;
  if (length === 0) return 0;
  const last = bytes[length - 1]!;
  // A last byte without magnitude is needed only to keep the sign bit off the byte before it.
  if (requireMinimal && (last & 0x7f) === 0 && (length === 1 || (bytes[length - 2]! & 0x80) === 0)) return null;
  // No shifts: five bytes pass 32 bits.
  let value = last & 0x7f;
  for (let i = length - 2; i >= 0; i--) value = value * 256 + bytes[i]!;
  // Minus zero would not equal itself under Object.is.
  return last & 0x80 && value !== 0 ? -value : value;
}

const SMALL: Uint8Array[] = [];
for (let n = -1; n <= 16; n++) SMALL.push(encode(n));

/** The shortest bytes for a number. Shared between calls: never write to them. */
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
