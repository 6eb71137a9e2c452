import { DecodeError } from '../../util/bytes.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { pairFirst, pairSecond } from './pair-codec.ts';
import type { RunFamily } from './run-family.ts';

/**
 * The format of a run: entries in ascending order of their keys, written once and never changed.
 *
 *     pages | index blocks | summary | filter | footer
 *
 * A page holds a header and entries of `shared prefix, length * 2 + removed, rest of the key, value`. Entries of one key
 * lie in one page. An index block holds the first key and the offset of up to 64 pages, the summary the first key of
 * each index block, and the footer, which comes last, the offsets of all. Every part has a CRC-32. Those of pages and
 * index blocks begin with a value for run and place (`placeSeed`), so that a part of another run, or of another place of
 * the same run, is detected.
 *
 * An entry is added or removed: a removal takes back the entry of the same key in an older run. A removal followed by
 * an addition of the same key in one run replaces the older entry.
 */
export const PAGE_SIZE = 4096;
/** Number of entries, offset of the end of the last one, and the sums of all entries before: net count and the pair. */
export const PAGE_HEADER = 32;
/** Offset of these sums in a page. */
export const PAGE_SUMS_AT = 8;
export const CRC_SIZE = 4;
/** CRC-32 of any bytes followed by their own CRC-32, little-endian, from whatever initial value. */
export const CRC_RESIDUE = 0x2144df1c;
export const PAGES_PER_BLOCK = 64;
/** Bytes of an offset of a page in the index. */
const OFFSET_SIZE = 6;
export const FOOTER_SIZE = 128;
/**
 * In version 1 checksums were not bound to the place, and the footer had no id. Up to version 2 filters held the txids of
 * coins rather than their whole keys.
 */
export const FORMAT_VERSION = 3;
/** Bytes of the key that filters of earlier versions hold. */
const TXID_FILTER_SIZE = 32;
/** "obvrun" and two zero bytes. */
const MAGIC = Uint8Array.of(0x6f, 0x62, 0x76, 0x72, 0x75, 0x6e, 0, 0);

/** Returns the bytes of a page in the index of a family: its first key and its offset. */
export function indexEntrySize(family: RunFamily): number {
  return family.keySize + OFFSET_SIZE;
}

/** A sum of signed amounts modulo 2^64, in two halves, since lifetime sums exceed 2^53. */
export class Sum64 {
  low = 0;
  high = 0;

  /** Adds `value`, a non-negative integer below 2^53, or subtracts it. */
  add(value: number, subtract: boolean): void {
    const low = value >>> 0;
    const high = Math.floor(value / 0x1_0000_0000);
    if (subtract) {
      const difference = this.low - low;
      this.low = difference >>> 0;
      this.high = (this.high - high - (difference < 0 ? 1 : 0)) >>> 0;
      return;
    }
    const sum = this.low + low;
    this.low = sum >>> 0;
    this.high = (this.high + high + (sum >= 0x1_0000_0000 ? 1 : 0)) >>> 0;
  }

  /** Adds the difference of two sums. */
  addDifference(above: Sum64, below: Sum64): void {
    const low = this.low + above.low - below.low;
    const carry = Math.floor(low / 0x1_0000_0000);
    this.low = low >>> 0;
    this.high = (this.high + above.high - below.high + carry) >>> 0;
  }

  get value(): bigint {
    return BigInt.asIntN(64, (BigInt(this.high) << 32n) | BigInt(this.low));
  }

  put(view: DataView, at: number): void {
    view.setUint32(at, this.low, true);
    view.setUint32(at + 4, this.high, true);
  }

  load(view: DataView, at: number): void {
    this.low = view.getUint32(at, true);
    this.high = view.getUint32(at + 4, true);
  }
}

/** Sums over entries: removed ones count negative. */
export class EntrySums {
  readonly count = new Sum64();
  readonly first = new Sum64();
  readonly second = new Sum64();

  addEntry(family: RunFamily, removed: boolean, bytes: Uint8Array, valueAt: number): void {
    this.count.add(1, removed);
    if (!family.sums) return;
    this.first.add(pairFirst(bytes, valueAt), removed);
    this.second.add(pairSecond(bytes, valueAt), removed);
  }

  /** Adds a count and amounts that may be negative. */
  addSigned(count: number, first: number, second: number): void {
    this.count.add(Math.abs(count), count < 0);
    this.first.add(Math.abs(first), first < 0);
    this.second.add(Math.abs(second), second < 0);
  }

  /** Adds the sums of the entries between two places of a run. */
  addDifference(above: EntrySums, below: EntrySums): void {
    this.count.addDifference(above.count, below.count);
    this.first.addDifference(above.first, below.first);
    this.second.addDifference(above.second, below.second);
  }

  put(view: DataView, at: number): void {
    this.count.put(view, at);
    this.first.put(view, at + 8);
    this.second.put(view, at + 16);
  }

  load(view: DataView, at: number): void {
    this.count.load(view, at);
    this.first.load(view, at + 8);
    this.second.load(view, at + 16);
  }
}

export interface RunFooter {
  readonly format: number;
  /** Id in the list of runs; 0 in format 1. */
  readonly id: number;
  readonly entries: number;
  readonly pages: number;
  /** Offset of the first byte after the pages, where the index begins. */
  readonly indexAt: number;
  readonly summaryAt: number;
  readonly filterAt: number;
  /** Random number of the run, for its filter and its checksums. */
  readonly salt: number;
  readonly footerAt: number;
  /** Whether the filter holds whole keys rather than txids. */
  readonly wholeKeys: boolean;
  readonly summaryCrc: number;
  readonly filterCrc: number;
  /** Sums of all entries. */
  readonly sums: EntrySums;
}

/**
 * Returns the initial value of the checksum of a part of a run. Pages have numbers from 0 on, index blocks from -1 down.
 */
export function placeSeed({ format, salt }: Pick<RunFooter, 'format' | 'salt'>, part: number): number {
  return format === 1 ? 0 : (salt + Math.imul(part, 0x9e3779b1)) >>> 0;
}

export function encodeFooter(family: RunFamily, footer: Omit<RunFooter, 'format' | 'wholeKeys'>): Uint8Array {
  const bytes = new Uint8Array(FOOTER_SIZE);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  bytes[8] = FORMAT_VERSION;
  bytes[9] = family.fileCode ?? family.code;
  bytes[10] = family.keySize;
  bytes[11] = family.filterSize;
  view.setUint32(12, footer.id, true);
  const numbers = [footer.entries, footer.pages, footer.indexAt, footer.summaryAt, footer.filterAt, footer.footerAt];
  for (const [i, value] of numbers.entries()) view.setFloat64(16 + i * 8, value, true);
  view.setUint32(64, footer.salt, true);
  view.setUint32(68, footer.summaryCrc, true);
  view.setUint32(72, footer.filterCrc, true);
  footer.sums.put(view, 80);
  view.setUint32(FOOTER_SIZE - 4, crc32(bytes.subarray(0, FOOTER_SIZE - 4)), true);
  return bytes;
}

/**
 * Decodes the footer of a run of `size` bytes. Throws DecodeError if it is damaged or of another family, and OperatorError
 * if a newer version has written it.
 */
export function decodeFooter(family: RunFamily, bytes: Uint8Array, size: number, name: string): RunFooter {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (view.getUint32(FOOTER_SIZE - 4, true) !== crc32(bytes.subarray(0, FOOTER_SIZE - 4)) || !hasMagic(bytes))
    throw damagedRun(name);
  const format = bytes[8]!;
  if (format > FORMAT_VERSION)
    throw new OperatorError(
      `run ${name} has format ${format}, made by a newer version; this version reads up to ${FORMAT_VERSION}: run the newer one`,
    );
  if (format < 1) throw damagedRun(name);
  const filterSize = format < 3 && family.filterSize > 0 ? TXID_FILTER_SIZE : family.filterSize;
  if (bytes[9] !== (family.fileCode ?? family.code) || bytes[10] !== family.keySize || bytes[11] !== filterSize)
    throw new DecodeError(`run ${name} does not hold ${family.name}`);
  const number = (i: number) => view.getFloat64(16 + i * 8, true);
  const sums = new EntrySums();
  sums.load(view, 80);
  const footer: RunFooter = {
    format,
    id: view.getUint32(12, true),
    entries: number(0),
    pages: number(1),
    indexAt: number(2),
    summaryAt: number(3),
    filterAt: number(4),
    footerAt: number(5),
    wholeKeys: filterSize === family.keySize,
    salt: view.getUint32(64, true),
    summaryCrc: view.getUint32(68, true),
    filterCrc: view.getUint32(72, true),
    sums,
  };
  if (footer.footerAt + FOOTER_SIZE !== size) throw damagedRun(name);
  return footer;
}

function hasMagic(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, i) => bytes[i] === byte);
}

/** Returns the error of a damaged run. `part` names the part, as in `page 3`; without one it is the run as a whole. */
export function damagedRun(name: string, part: string | null = null): DecodeError {
  return new DecodeError(`run ${name} is damaged${part === null ? '' : ` in ${part}`}`);
}

export function crc32(bytes: Uint8Array, seed = 0): number {
  return Bun.hash.crc32(bytes, seed);
}

/** Compares two keys of the same width as bytes. */
export function compareKeys(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number, size: number): number {
  for (let i = 0; i < size; i++) {
    const difference = a[aAt + i]! - b[bAt + i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Returns the smallest key above all keys that begin with `prefix`, padded with zeros; null if there is none. */
export function keyAfterPrefix(prefix: Uint8Array, keySize: number): Uint8Array | null {
  const key = new Uint8Array(keySize);
  key.set(prefix);
  for (let i = prefix.length - 1; i >= 0; i--) {
    key[i] = (key[i]! + 1) & 0xff;
    if (key[i] !== 0) return key;
  }
  return null;
}
