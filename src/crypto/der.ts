/** Position of the number that `readInteger` found. */
let integerStart = 0;

/**
 * Parses a DER signature as leniently as consensus: lengths may be overlong, numbers padded or negative, and bytes may
 * follow. Writes r and s, 32 bytes each, to `out`; numbers that do not fit become zeros, which no key verifies. Returns
 * false if the signature cannot be parsed. Strictness (BIP-66) is checked by the script interpreter.
 */
export function parseDerLax(input: Uint8Array, out: Uint8Array): boolean {
  const end = input.length;
  out.fill(0, 0, 64);
  if (end < 2 || input[0] !== 0x30) return false;
  let pos = 2;
  const sequenceLength = input[1]!;
  if (sequenceLength & 0x80) {
    // The length is skipped without a check.
    if (sequenceLength - 0x80 > end - pos) return false;
    pos += sequenceLength - 0x80;
  }
  const r = readInteger(input, pos);
  if (r < 0) return false;
  const rStart = integerStart;
  const s = readInteger(input, r);
  if (s < 0) return false;
  const sStart = integerStart;
  if (!copyInteger(input, rStart, r, out, 0) || !copyInteger(input, sStart, s, out, 32)) out.fill(0, 0, 64);
  return true;
}

/** Returns the position after the integer at `pos`, or -1. */
function readInteger(input: Uint8Array, at: number): number {
  const end = input.length;
  let pos = at;
  if (end - pos < 2 || input[pos] !== 0x02) return -1;
  let length = input[pos + 1]!;
  pos += 2;
  if (length & 0x80) {
    let lengthBytes = length - 0x80;
    if (lengthBytes > end - pos) return -1;
    while (lengthBytes > 0 && input[pos] === 0) {
      pos++;
      lengthBytes--;
    }
    if (lengthBytes >= 4) return -1;
    length = 0;
    for (; lengthBytes > 0; lengthBytes--) length = length * 256 + input[pos++]!;
  }
  if (length > end - pos) return -1;
  integerStart = pos;
  return pos + length;
}

function copyInteger(input: Uint8Array, from: number, end: number, out: Uint8Array, at: number): boolean {
  let start = from;
  while (start < end && input[start] === 0) start++;
  const length = end - start;
  if (length > 32) return false;
  for (let i = 0; i < length; i++) out[at + 32 - length + i] = input[start + i]!;
  return true;
}

/** Returns the strict DER encoding of a compact signature (r and s, 32 bytes each). */
export function derOfCompact(compact: Uint8Array): Uint8Array {
  const r = derInteger(compact.subarray(0, 32));
  const s = derInteger(compact.subarray(32, 64));
  const out = new Uint8Array(2 + r.length + s.length);
  out[0] = 0x30;
  out[1] = r.length + s.length;
  out.set(r, 2);
  out.set(s, 2 + r.length);
  return out;
}

function derInteger(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const pad = bytes[start]! & 0x80 ? 1 : 0;
  const out = new Uint8Array(2 + pad + bytes.length - start);
  out[0] = 0x02;
  out[1] = out.length - 2;
  out.set(bytes.subarray(start), 2 + pad);
  return out;
}
