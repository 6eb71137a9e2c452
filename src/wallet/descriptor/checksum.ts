import { assert } from '../../util/assert.ts';

/** Three groups of 32 characters: an error within a group, or of case, counts as one symbol (BIP-380). */
const INPUT_CHARSET =
  '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ ';
const CHECKSUM_CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const CHECKSUM_SIZE = 8;
const HALF_BITS = 20;
/** The generator's 40-bit coefficients (BIP-380), one for each bit that is shifted out, as halves that fit a number. */
const GENERATOR_HIGH = [0xf5dee, 0xa9fdc, 0x1bab1, 0x3706b, 0x644d6];
const GENERATOR_LOW = [0x51989, 0xa3312, 0x0e32d, 0x1677a, 0x26ffd];

const POSITIONS = new Int8Array(128).fill(-1);
for (let i = 0; i < INPUT_CHARSET.length; i++) POSITIONS[INPUT_CHARSET.charCodeAt(i)] = i;

/** Returns the eight checksum characters of a text without checksum; null if it has a character outside the charset. */
export function checksumOf(payload: string): string | null {
  let high = 0;
  let low = 1;
  const step = (symbol: number) => {
    const out = high >>> 15;
    high = ((high & 0x7fff) << 5) | (low >>> 15);
    low = ((low & 0x7fff) << 5) ^ symbol;
    for (let i = 0; i < 5; i++) {
      if (!((out >>> i) & 1)) continue;
      high ^= GENERATOR_HIGH[i]!;
      low ^= GENERATOR_LOW[i]!;
    }
  };
  let groups = 0;
  let count = 0;
  for (let i = 0; i < payload.length; i++) {
    const position = POSITIONS[payload.charCodeAt(i)] ?? -1;
    if (position < 0) return null;
    step(position & 31);
    groups = groups * 3 + (position >> 5);
    if (++count === 3) {
      step(groups);
      groups = 0;
      count = 0;
    }
  }
  if (count > 0) step(groups);
  for (let i = 0; i < CHECKSUM_SIZE; i++) step(0);
  low ^= 1;
  let text = '';
  for (const half of [high, low])
    for (let shift = HALF_BITS - 5; shift >= 0; shift -= 5) text += CHECKSUM_CHARSET[(half >>> shift) & 31]!;
  return text;
}

/** Returns `text#checksum`. Throws for a character outside the charset. */
export function addChecksum(text: string): string {
  const checksum = checksumOf(text);
  assert(checksum !== null, 'characters of descriptors');
  return `${text}#${checksum}`;
}

/** Removes the checksum after verifying it. The error is Core's. */
export function checkChecksum(
  text: string,
  requireChecksum: boolean,
): { readonly ok: true; readonly payload: string; readonly checksum: string } | { readonly ok: false; error: string } {
  const [payload, given, ...more] = text.split('#');
  if (more.length > 0) return { ok: false, error: "Multiple '#' symbols" };
  if (given === undefined && requireChecksum) return { ok: false, error: 'Missing checksum' };
  const size = given === undefined ? CHECKSUM_SIZE : Buffer.byteLength(given);
  if (size !== CHECKSUM_SIZE) return { ok: false, error: `Expected 8 character checksum, not ${size} characters` };
  const checksum = checksumOf(payload!);
  if (checksum === null) return { ok: false, error: 'Invalid characters in payload' };
  if (given !== undefined && given !== checksum)
    return { ok: false, error: `Provided checksum '${given}' does not match computed checksum '${checksum}'` };
  return { ok: true, payload: payload!, checksum };
}

/** Returns the checksum of a descriptor with or without one; null if the one it has is wrong. */
export function descriptorChecksum(text: string): string | null {
  const checked = checkChecksum(text, false);
  return checked.ok ? checked.checksum : null;
}
