import { DecodeError } from '../../util/bytes.ts';
import { pairFirst, pairSecond } from './pair-codec.ts';
import type { RangeEdges } from './range-edges.ts';
import type { RunFamily } from './run-family.ts';
import { type FilterKey, RunFilter } from './run-filter.ts';
import {
  compareKeys,
  crc32,
  damagedRun,
  decodeFooter,
  EntrySums,
  FOOTER_SIZE,
  indexEntrySize,
  keyAfterPrefix,
  PAGE_SUMS_AT,
  PAGES_PER_BLOCK,
  placeSeed,
  type RunFooter,
} from './run-format.ts';
import { DecodedPage, type EntryVisitor, findInPage, isIntactPage, type PageEntry, visitPage } from './run-page.ts';
import type { RunSource } from './run-source.ts';

/** Runs of up to this many pages have their index in memory, at most 170 kB each. */
const SMALL_RUN_PAGES = 4096;

/** Read access to a run. Whatever is read is verified; damage throws DecodeError with the name of the run. */
export class Run {
  readonly family: RunFamily;
  readonly source: RunSource;
  readonly footer: RunFooter;
  readonly #summary: Uint8Array;
  readonly #filter: RunFilter | null;
  /** The whole index, if it is kept in memory. */
  readonly #pinned: Uint8Array | null;
  readonly #entrySize: number;
  readonly #blockBuffer: Uint8Array;
  #block: Uint8Array;
  #blockNumber = -1;
  /** Buffer for pages of a file. */
  #buffer = new Uint8Array(0);
  #page: Uint8Array = this.#buffer;
  #pageNumber = -1;
  #decoded = new DecodedPage();
  #decodedNumber = -1;
  /** The key of the entry that is visited. */
  readonly #visited: Uint8Array;

  /**
   * With `pinned`, the filter and the index stay in memory, so that a look-up reads one page or none. Small runs keep
   * their index anyway. `id`: the id that the list of runs has for it; null for any.
   */
  constructor(family: RunFamily, source: RunSource, pinned: boolean, id: number | null = null) {
    this.family = family;
    this.source = source;
    this.#entrySize = indexEntrySize(family);
    this.#visited = new Uint8Array(family.keySize);
    if (source.size < FOOTER_SIZE) throw damagedRun(source.name);
    const footer = source.read(source.size - FOOTER_SIZE, FOOTER_SIZE, new Uint8Array(FOOTER_SIZE));
    this.footer = decodeFooter(family, footer, source.size, source.name);
    if (id !== null && this.footer.format > 1 && this.footer.id !== id)
      throw new DecodeError(`run ${source.name} is damaged: it holds run ${this.footer.id}`);
    const { summaryAt, filterAt, footerAt, salt, summaryCrc, filterCrc, indexAt, wholeKeys } = this.footer;
    this.#summary = this.#readPart('the summary', summaryAt, filterAt, summaryCrc);
    this.#filter =
      pinned && family.filterSize > 0
        ? new RunFilter(
            new Uint32Array(this.#readPart('the filter', filterAt, footerAt, filterCrc).slice().buffer),
            salt,
            wholeKeys,
          )
        : null;
    this.#blockBuffer = new Uint8Array(this.#entrySize * PAGES_PER_BLOCK + 4);
    this.#block = this.#blockBuffer;
    this.#pinned = pinned || this.footer.pages <= SMALL_RUN_PAGES ? this.#readIndex(summaryAt - indexAt) : null;
  }

  get pages(): number {
    return this.footer.pages;
  }

  close(): void {
    this.source.close();
  }

  /** Whether the run may hold a key; always true without a filter. */
  mayHold(key: FilterKey): boolean {
    return this.#filter === null || this.#filter.mayHold(key);
  }

  /** Returns the newest entry of a key; null if the run has none. */
  find(key: Uint8Array): PageEntry | null {
    const number = this.lastPageUpTo(key);
    return number < 0 ? null : findInPage(this.family, this.readPage(number), key);
  }

  /**
   * As `find`, with an entry that is valid until the next call. Where the page is on disk, returns 'pending', and the
   * system begins to read it.
   */
  findIfCached(key: Uint8Array): PageEntry | 'pending' | null {
    const number = this.lastPageUpTo(key);
    if (number < 0) return null;
    if (number === this.#pageNumber) return findInPage(this.family, this.#page, key);
    const at = this.#pageOffset(number);
    const page = this.source.readIfCached(at, this.#pageOffset(number + 1) - at);
    if (page === null) return 'pending';
    this.verifyPage(number, page);
    return findInPage(this.family, page, key);
  }

  /**
   * Adds the sums of the entries from `low` up to before `high` to `sums`, and the outermost ones to `edges`; `high` null:
   * up to the end.
   */
  addSums(low: Uint8Array, high: Uint8Array | null, sums: EntrySums, edges: RangeEdges | null = null): void {
    const first = Math.max(0, this.lastPageBelow(low));
    const last = high === null ? this.pages - 1 : this.lastPageBelow(high);
    if (last < first) return;
    const visited = this.#addPageSums(first, low, first === last ? high : null, sums, edges);
    if (first === last) return;
    // The header of a page has the sums of all entries before it.
    sums.addDifference(this.#sumsBefore(last), this.#sumsBefore(first + 1));
    if (edges !== null && !visited) {
      let seen = 0;
      this.#visit(first + 1, low, high, (key, removed) => edges.addFirst(key, removed, seen++));
    }
    this.#addPageSums(last, low, high, sums, edges);
  }

  /**
   * Calls `visit` with each entry, added or removed, from `low` up to before `high`, in order, until it returns false. The
   * key is valid during the call.
   */
  visitRange(low: Uint8Array, high: Uint8Array | null, visit: EntryVisitor): void {
    for (let number = Math.max(0, this.lastPageBelow(low)); number < this.pages; number++)
      if (!this.#visit(number, low, high, visit)) return;
  }

  /** Whether the run has an entry, added or removed, from `low` up to before `high`. */
  hasEntries(low: Uint8Array, high: Uint8Array | null): boolean {
    let found = false;
    this.visitRange(low, high, () => {
      found = true;
      return false;
    });
    return found;
  }

  /** Calls `visit` with each key that begins with `prefix`, in order; the key is valid during the call. */
  visitPrefix(prefix: Uint8Array, visit: (key: Uint8Array) => void): void {
    const low = new Uint8Array(this.family.keySize);
    low.set(prefix);
    this.visitRange(low, keyAfterPrefix(prefix, this.family.keySize), (key) => {
      visit(key);
      return true;
    });
  }

  /** Returns the number of the last page whose first key is at most `key`; -1 without one. */
  lastPageUpTo(key: Uint8Array): number {
    return this.#searchPage(key, 0);
  }

  /** Returns the number of the last page whose first key is below `key`; -1 without one. */
  lastPageBelow(key: Uint8Array): number {
    return this.#searchPage(key, -1);
  }

  /** Returns a verified page, valid until the next one is read. */
  readPage(number: number): Uint8Array {
    if (number === this.#pageNumber) return this.#page;
    this.#pageNumber = -1;
    const at = this.#pageOffset(number);
    const length = this.#pageOffset(number + 1) - at;
    if (length > this.#buffer.length) this.#buffer = new Uint8Array(length);
    this.#page = this.source.read(at, length, this.#buffer);
    this.verifyPage(number, this.#page);
    this.#pageNumber = number;
    return this.#page;
  }

  /** Throws DecodeError if `page` is not the intact page of this number. */
  verifyPage(number: number, page: Uint8Array): void {
    if (!isIntactPage(page, placeSeed(this.footer, number))) throw damagedRun(this.source.name, `page ${number}`);
  }

  /** Returns a page with its entries decoded. It stays as it is; the last one is kept for the next call. */
  decodedPage(number: number): DecodedPage {
    if (number !== this.#decodedNumber) {
      const decoded = new DecodedPage();
      decoded.decode(this.family, this.readPage(number).slice());
      this.#decoded = decoded;
      this.#decodedNumber = number;
    }
    return this.#decoded;
  }

  #sumsBefore(number: number): EntrySums {
    const sums = new EntrySums();
    const page = this.readPage(number);
    sums.load(new DataView(page.buffer, page.byteOffset, page.length), PAGE_SUMS_AT);
    return sums;
  }

  /** Adds the sums of the entries of one page. Returns whether there are any. */
  #addPageSums(
    number: number,
    low: Uint8Array,
    high: Uint8Array | null,
    sums: EntrySums,
    edges: RangeEdges | null,
  ): boolean {
    const { sums: hasSums } = this.family;
    // Doubles add up several times faster, as long as they are exact.
    let visited = 0;
    let count = 0;
    let first = 0;
    let second = 0;
    let lastRemoved = false;
    this.#visit(number, low, high, (key, removed, page, valueAt) => {
      if (edges !== null && visited < 2) edges.addFirst(key, removed, visited);
      visited++;
      lastRemoved = removed;
      count += removed ? -1 : 1;
      if (!hasSums) return true;
      const a = pairFirst(page, valueAt);
      const b = pairSecond(page, valueAt);
      if (Math.abs(first) + a > Number.MAX_SAFE_INTEGER || Math.abs(second) + b > Number.MAX_SAFE_INTEGER) {
        sums.addSigned(0, first, second);
        first = 0;
        second = 0;
      }
      first += removed ? -a : a;
      second += removed ? -b : b;
      return true;
    });
    sums.addSigned(count, first, second);
    if (visited > 0) edges?.addLast(this.#visited, lastRemoved);
    return visited > 0;
  }

  #visit(number: number, low: Uint8Array, high: Uint8Array | null, visit: EntryVisitor): boolean {
    return visitPage(this.family, this.readPage(number), low, high, this.#visited, visit);
  }

  /** Reads up to `count` pages from one on, and returns them unverified as views of `buffer`, or of a larger one. */
  readPages(number: number, count: number, buffer: Uint8Array): Uint8Array[] {
    const end = Math.min(number + count, this.footer.pages);
    const offsets: number[] = [];
    for (let n = number; n <= end; n++) offsets.push(this.#pageOffset(n));
    const from = offsets[0]!;
    const length = offsets.at(-1)! - from;
    const bytes = this.source.read(from, length, length > buffer.length ? new Uint8Array(length) : buffer);
    return offsets.slice(0, -1).map((at, i) => bytes.subarray(at - from, offsets[i + 1]! - from));
  }

  #readPart(part: string, from: number, to: number, crc: number): Uint8Array {
    const bytes = this.source.read(from, to - from, new Uint8Array(to - from));
    if (crc32(bytes) !== crc) throw damagedRun(this.source.name, part);
    return bytes;
  }

  /** Returns the index without the checksums of its blocks, which it verifies. */
  #readIndex(size: number): Uint8Array {
    const stride = this.#entrySize * PAGES_PER_BLOCK;
    const index = new Uint8Array(this.footer.pages * this.#entrySize);
    for (let at = 0, to = 0; at < size; at += stride + 4, to += stride) {
      const length = Math.min(stride, index.length - to);
      index.set(this.#readBlockAt(at / (stride + 4), at, length), to);
    }
    return index;
  }

  #readBlockAt(number: number, at: number, length: number): Uint8Array {
    const bytes = this.source.read(this.footer.indexAt + at, length + 4, this.#blockBuffer);
    const entries = bytes.subarray(0, length);
    const crc = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getUint32(length, true);
    if (crc32(entries, placeSeed(this.footer, ~number)) !== crc)
      throw damagedRun(this.source.name, `index block ${number}`);
    return entries;
  }

  /** Loads the index block into `#block`. Returns the number of its pages. */
  #loadBlock(number: number): number {
    const pages = Math.min(PAGES_PER_BLOCK, this.footer.pages - number * PAGES_PER_BLOCK);
    if (number === this.#blockNumber) return pages;
    this.#blockNumber = -1;
    const stride = this.#entrySize * PAGES_PER_BLOCK + 4;
    this.#block = this.#readBlockAt(number, number * stride, pages * this.#entrySize);
    this.#blockNumber = number;
    return pages;
  }

  /** Returns where a page begins; for the number after the last page, where that page ends. */
  #pageOffset(number: number): number {
    if (number === this.footer.pages) return this.footer.indexAt;
    if (this.#pinned !== null) return offsetAt(this.#pinned, (number + 1) * this.#entrySize);
    this.#loadBlock(Math.floor(number / PAGES_PER_BLOCK));
    return offsetAt(this.#block, ((number % PAGES_PER_BLOCK) + 1) * this.#entrySize);
  }

  /** Returns the last page whose first key compares with `key` as at most `bound`. */
  #searchPage(key: Uint8Array, bound: number): number {
    const { keySize } = this.family;
    if (this.#pinned !== null) return lastUpTo(this.#pinned, this.#entrySize, this.footer.pages, key, keySize, bound);
    const blocks = this.#summary.length / keySize;
    const block = lastUpTo(this.#summary, keySize, blocks, key, keySize, bound);
    if (block < 0) return -1;
    const pages = this.#loadBlock(block);
    return block * PAGES_PER_BLOCK + lastUpTo(this.#block, this.#entrySize, pages, key, keySize, bound);
  }
}

/** Returns the last of `count` keys that compares with `key` as at most `bound` (0 or -1); -1 without one. */
function lastUpTo(
  keys: Uint8Array,
  stride: number,
  count: number,
  key: Uint8Array,
  keySize: number,
  bound: number,
): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(keys, middle * stride, key, 0, keySize) <= bound) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Returns the offset that ends at `end` in an index. */
function offsetAt(index: Uint8Array, end: number): number {
  const at = end - 6;
  const low = index[at]! + index[at + 1]! * 0x100 + index[at + 2]! * 0x1_0000 + index[at + 3]! * 0x100_0000;
  return (index[at + 4]! + index[at + 5]! * 0x100) * 0x1_0000_0000 + low;
}
