import { type ByteReader, type ByteWriter, DecodeError } from '../util/bytes.ts';

/** Core's MAX_SIZE: the bound on vectors and strings on the wire. */
const MAX_SIZE = 0x0200_0000;

/** Reads a compact size. Rejects all but the shortest form, so that an object has one encoding. */
export function readCompactSize(r: ByteReader): number {
  const first = r.u8();
  if (first < 0xfd) return first;
  let size: number;
  let least: number;
  if (first === 0xfd) {
    size = r.u16();
    least = 0xfd;
  } else if (first === 0xfe) {
    size = r.u32();
    least = 0x1_0000;
  } else {
    size = Number(r.u64());
    least = 0x1_0000_0000;
  }
  if (size < least) throw new DecodeError('non-canonical compact size');
  if (size > MAX_SIZE) throw new DecodeError('compact size too large');
  return size;
}

export function writeCompactSize(w: ByteWriter, size: number): void {
  if (size < 0xfd) w.u8(size);
  else if (size <= 0xffff) {
    w.u8(0xfd);
    w.u16(size);
  } else if (size <= 0xffff_ffff) {
    w.u8(0xfe);
    w.u32(size);
  } else {
    w.u8(0xff);
    w.u64(BigInt(size));
  }
}

/** Returns the size of the encoding of a compact size, bytes. */
export function compactSizeLength(size: number): number {
  return size < 0xfd ? 1 : size <= 0xffff ? 3 : size <= 0xffff_ffff ? 5 : 9;
}

/**
 * Reads a count and that many elements. Throws DecodeError before allocating if the remaining bytes cannot hold them.
 */
export function readVector<T>(r: ByteReader, decode: (r: ByteReader) => T): T[] {
  const count = readCompactSize(r);
  if (count > r.remaining) throw new DecodeError('unexpected end of data');
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(decode(r));
  return items;
}

export function writeVector<T>(w: ByteWriter, items: readonly T[], encode: (w: ByteWriter, item: T) => void): void {
  writeCompactSize(w, items.length);
  for (const item of items) encode(w, item);
}

const EMPTY = new Uint8Array(0);

/** Reads a byte string as a view. All empty ones are one object, since a witness may hold millions of them. */
export function readVarBytes(r: ByteReader): Uint8Array {
  const size = readCompactSize(r);
  return size === 0 ? EMPTY : r.bytes(size);
}

export function writeVarBytes(w: ByteWriter, bytes: Uint8Array): void {
  writeCompactSize(w, bytes.length);
  w.bytes(bytes);
}
