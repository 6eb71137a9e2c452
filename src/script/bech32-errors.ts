import {
  BECH32_CHECKSUM_SIZE,
  BECH32_MAX_LENGTH,
  type Bech32Encoding,
  bech32Residue,
  bech32Value,
  misplacedCharacters,
} from './bech32.ts';

export interface Bech32Fault {
  /** Core's error text. */
  readonly error: string;
  /** Positions of characters that are likely wrong, in Core's order. */
  readonly locations: number[];
}

/*
 * The checksum is a BCH code over GF(32), whose generator has as roots the powers 997, 998 and 999 of `e`, a generator
 * of GF(1024) = GF(32)[x] / (x^2 + 9x + 23), where GF(32) = GF(2)[x] / (x^5 + x^3 + 1). So the residue of a string at
 * these roots depends on its errors alone, and the positions of one or two errors can be computed.
 */
const ORDER = 1023;
const EXP = new Int16Array(ORDER);
const LOG = new Int16Array(1024);

function gf32Multiply(a: number, b: number): number {
  let product = 0;
  for (let bit = 0; bit < 5; bit++) if ((b >> bit) & 1) product ^= a << bit;
  for (let bit = 8; bit >= 5; bit--) if ((product >> bit) & 1) product ^= 41 << (bit - 5);
  return product;
}

LOG[0] = -1;
for (let power = 0, value = 1; power < ORDER; power++) {
  EXP[power] = value;
  LOG[value] = power;
  const low = value & 31;
  const high = value >> 5;
  value = ((gf32Multiply(high, 9) ^ low) << 5) | gf32Multiply(high, 23);
}

/** Returns e^power times the element with this logarithm; zero has the logarithm -1. */
function timesPower(log: number, power: number): number {
  return log < 0 ? 0 : EXP[(log + power) % ORDER]!;
}

/** Evaluates the residue, a polynomial of degree 5, at e^root. */
function syndrome(residue: number, root: number): number {
  let sum = 0;
  for (let degree = 0; degree < 6; degree++) {
    const coefficient = (residue >>> (5 * degree)) & 31;
    sum ^= timesPower(LOG[coefficient]!, root * degree);
  }
  return sum;
}

/** Returns the fault of a string that does not decode as Bech32 or Bech32m, and its positions (Core's LocateErrors). */
export function locateBech32Errors(text: string): Bech32Fault {
  if (text.length > BECH32_MAX_LENGTH) {
    const locations = Array.from({ length: text.length - BECH32_MAX_LENGTH }, (_, i) => BECH32_MAX_LENGTH + i);
    return { error: 'Bech32 string too long', locations };
  }
  const misplaced = misplacedCharacters(text);
  if (misplaced.length > 0) return { error: 'Invalid character or mixed case', locations: misplaced };
  const separator = text.lastIndexOf('1');
  if (separator < 0) return { error: 'Missing separator', locations: [] };
  if (separator === 0 || separator + BECH32_CHECKSUM_SIZE >= text.length)
    return { error: 'Invalid separator position', locations: [separator] };
  const values = new Uint8Array(text.length - 1 - separator);
  for (let i = separator + 1; i < text.length; i++) {
    const value = bech32Value(text.charCodeAt(i));
    if (value < 0) return { error: 'Invalid Base 32 character', locations: [i] };
    values[i - separator - 1] = value;
  }
  return locateInChecksum(text.slice(0, separator).toLowerCase(), values, text.length);
}

/**
 * Tries both encodings, since the version that decides between them may be the error; the one with fewer errors wins.
 */
function locateInChecksum(hrp: string, values: Uint8Array, textLength: number): Bech32Fault {
  let locations: number[] = [];
  let likely: Bech32Encoding | null = null;
  for (const encoding of ['bech32', 'bech32m'] as const) {
    const residue = bech32Residue(hrp, values, encoding);
    if (residue === 0) return { error: '', locations: [] };
    const found = errorPositions(residue, values.length).map((fromEnd) => textLength - fromEnd - 1);
    if (locations.length === 0 || (found.length > 0 && found.length < locations.length)) {
      locations = found;
      if (found.length > 0) likely = encoding;
    }
  }
  const error =
    likely === 'bech32m'
      ? 'Invalid Bech32m checksum'
      : likely === 'bech32'
        ? 'Invalid Bech32 checksum'
        : 'Invalid checksum';
  return { error, locations };
}

/**
 * Returns the positions from the end, the farther first, of one or two errors that explain the residue; empty if none
 * do.
 */
function errorPositions(residue: number, length: number): number[] {
  const s0 = syndrome(residue, 997);
  const s1 = syndrome(residue, 998);
  const s2 = syndrome(residue, 999);
  const log0 = LOG[s0]!;
  const log1 = LOG[s1]!;
  const log2 = LOG[s2]!;

  // One error e1*x^p1 makes the syndromes a geometric series with ratio e^p1.
  if (log0 >= 0 && log1 >= 0 && log2 >= 0 && (2 * log1 - log2 - log0 + 2 * ORDER) % ORDER === 0) {
    const p1 = (log1 - log0 + ORDER) % ORDER;
    return p1 < length && isGf32(log0 + (ORDER - 997) * p1) ? [p1] : [];
  }

  // Two errors: guess the first position, solve for the second.
  for (let p1 = 0; p1 < length; p1++) {
    const a = s2 ^ timesPower(log1, p1);
    const b = s1 ^ timesPower(log0, p1);
    if (a === 0 || b === 0) continue;
    const p2 = (LOG[a]! - LOG[b]! + ORDER) % ORDER;
    if (p2 >= length || p1 === p2) continue;
    const c = s1 ^ timesPower(log0, p2);
    if (c === 0) continue;
    const inverse = ORDER - LOG[EXP[p1]! ^ EXP[p2]!]!;
    if (!isGf32(LOG[b]! + inverse + (ORDER - 997) * p2)) continue;
    if (!isGf32(LOG[c]! + inverse + (ORDER - 997) * p1)) continue;
    return p1 > p2 ? [p1, p2] : [p2, p1];
  }
  return [];
}

/** Whether an element is in GF(32), as a difference of two characters is: these are the powers of e^33. */
function isGf32(log: number): boolean {
  return log % 33 === 0;
}
