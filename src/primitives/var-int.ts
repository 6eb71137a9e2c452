import type { ByteWriter } from '../util/bytes.ts';

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
