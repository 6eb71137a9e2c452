import { type ByteReader, type ByteWriter, DecodeError } from '../util/bytes.ts';

const MOST = (1n << 64n) - 1n;

/**
 * Core's VARINT: base 128 with the most significant digit first, each digit but the last with its high bit set, and one
 * less than its value, so that a number has one encoding. It is used in files only, never on the wire.
 */
/** Writes a number up to 2^53, or a bigint up to 2^64. */
export function writeVarInt(w: ByteWriter, value: number | bigint): void {
  if (typeof value === 'number') writeDigits(w, value);
  else writeBigDigits(w, value, 0);
}

function writeDigits(w: ByteWriter, value: number): void {
  if (value > 0x7f) writeLeadingDigits(w, Math.floor(value / 128) - 1);
  w.u8(value % 128);
}

function writeLeadingDigits(w: ByteWriter, value: number): void {
  if (value > 0x7f) writeLeadingDigits(w, Math.floor(value / 128) - 1);
  w.u8((value % 128) | 0x80);
}

function writeBigDigits(w: ByteWriter, value: bigint, mark: number): void {
  if (value > 0x7fn) writeBigDigits(w, (value >> 7n) - 1n, 0x80);
  w.u8(Number(value & 0x7fn) | mark);
}

/** Reads a number up to 2^32. Throws DecodeError on a larger one. */
export function readVarInt(r: ByteReader): number {
  let value = 0;
  for (;;) {
    const digit = r.u8();
    value = value * 128 + (digit & 0x7f);
    if (value > 0xffff_ffff) throw new DecodeError('VARINT above 32 bits');
    if ((digit & 0x80) === 0) return value;
    value++;
  }
}

/** Reads a number up to 2^64. Throws DecodeError on a larger one. */
export function readBigVarInt(r: ByteReader): bigint {
  let value = 0n;
  for (;;) {
    const digit = r.u8();
    value = (value << 7n) | BigInt(digit & 0x7f);
    if (value > MOST) throw new DecodeError('VARINT above 64 bits');
    if ((digit & 0x80) === 0) return value;
    value++;
  }
}

/** Compares the encodings of two numbers up to 2^32 as bytes, which is another order than that of the numbers. */
export function compareVarInts(a: number, b: number): number {
  const x = digitsOf(a);
  const y = digitsOf(b);
  for (let i = 0; i < x.length && i < y.length; i++) if (x[i] !== y[i]) return x[i]! - y[i]!;
  return x.length - y.length;
}

function digitsOf(value: number): number[] {
  const digits = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
    rest--;
    digits.unshift((rest % 128) | 0x80);
  }
  return digits;
}
