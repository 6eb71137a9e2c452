import type { RunFamily } from './run-family.ts';
import { RunFilter } from './run-filter.ts';
import {
  CRC_SIZE,
  crc32,
  EntrySums,
  encodeFooter,
  FORMAT_VERSION,
  indexEntrySize,
  PAGE_HEADER,
  PAGE_SIZE,
  PAGE_SUMS_AT,
  PAGES_PER_BLOCK,
  placeSeed,
} from './run-format.ts';
import { FileSink, MemorySink, type RunSink } from './run-source.ts';

/** Bytes of an entry beside its key and value: the shared prefix and the length. */
const ENTRY_OVERHEAD = 4;

/** A new run. */
export interface BuiltRun {
  readonly entries: number;
  readonly bytes: number;
  /** Its bytes, if it is to be stored in the database; otherwise it is in its file, which is durable. */
  readonly image: Uint8Array | null;
}

/**
 * Builds the run with this id from what `add` adds, in memory or in the file `path`. `expected` is an upper bound of the
 * number of entries. On an error the file is removed.
 */
export function buildRun(
  family: RunFamily,
  id: number,
  path: string | null,
  expected: number,
  add: (builder: RunBuilder) => void,
): BuiltRun {
  const sink = path === null ? new MemorySink() : new FileSink(path);
  try {
    const builder = new RunBuilder(family, id, sink, expected);
    add(builder);
    const bytes = builder.finish();
    return { entries: builder.entries, bytes, image: sink.finish() ?? null };
  } catch (error) {
    if (sink instanceof FileSink) sink.discard();
    throw error;
  }
}

/** Writes a run from entries in ascending order of their keys. */
export class RunBuilder {
  readonly #family: RunFamily;
  readonly #id: number;
  readonly #sink: RunSink;
  readonly #filter: RunFilter | null;
  readonly #salt = crypto.getRandomValues(new Uint32Array(1))[0]!;
  readonly #index: IndexWriter;
  readonly #sums = new EntrySums();
  #page = new Uint8Array(PAGE_SIZE * 4);
  #view = new DataView(this.#page.buffer);
  #used = PAGE_HEADER;
  #pageEntries = 0;
  #lastKey: Uint8Array;
  #entries = 0;
  #written = 0;

  /** `expected`: an upper bound of the number of entries, which sizes the filter. */
  constructor(family: RunFamily, id: number, sink: RunSink, expected: number) {
    this.#family = family;
    this.#id = id;
    this.#sink = sink;
    this.#index = new IndexWriter(family, sink, this.#salt);
    this.#lastKey = new Uint8Array(family.keySize);
    this.#filter = family.filterSize > 0 ? RunFilter.sized(expected, this.#salt) : null;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Adds the entry whose key begins at `keyAt`, and whose value is `values` from `from` up to before `to`. */
  addEntry(keys: Uint8Array, keyAt: number, removed: boolean, values: Uint8Array, from: number, to: number): void {
    const { keySize } = this.#family;
    const last = this.#lastKey;
    let shared = 0;
    if (this.#entries > 0) while (shared < keySize && keys[keyAt + shared] === last[shared]) shared++;
    const length = to - from;
    const size = ENTRY_OVERHEAD + keySize + length;
    // Entries of one key stay in one page, so that a look-up reads one page.
    if (this.#pageEntries > 0 && this.#used + size + CRC_SIZE > PAGE_SIZE && shared < keySize) this.#finishPage();
    if (this.#filter !== null && (shared < keySize || this.#entries === 0)) this.#filter.addKey(keys, keyAt);
    if (this.#pageEntries === 0) {
      this.#index.addPage(keys, keyAt, this.#written);
      this.#sums.put(this.#view, PAGE_SUMS_AT);
      shared = 0;
    }
    if (this.#used + size > this.#page.length) this.#growPage(size);
    const page = this.#page;
    let at = this.#used;
    page[at++] = shared;
    let code = length * 2 + (removed ? 1 : 0);
    while (code >= 0x80) {
      page[at++] = (code & 0x7f) | 0x80;
      code >>>= 7;
    }
    page[at++] = code;
    for (let i = shared; i < keySize; i++) {
      const byte = keys[keyAt + i]!;
      page[at++] = byte;
      last[i] = byte;
    }
    this.#sums.addEntry(this.#family, removed, values, from);
    for (let i = from; i < to; i++) page[at++] = values[i]!;
    this.#used = at;
    this.#pageEntries++;
    this.#entries++;
  }

  /** Writes what remains. Returns the number of bytes of the run. */
  finish(): number {
    if (this.#pageEntries > 0) this.#finishPage();
    const family = this.#family;
    const indexAt = this.#written;
    this.#index.finishBlock();
    for (const piece of this.#sink.drainAside()) this.#write(piece);
    const summaryAt = this.#written;
    const { summary } = this.#index;
    this.#write(summary);
    const filterAt = this.#written;
    const filter = this.#filter === null ? new Uint8Array(0) : new Uint8Array(this.#filter.words.buffer);
    this.#write(filter);
    this.#write(
      encodeFooter(family, {
        id: this.#id,
        entries: this.#entries,
        pages: this.#index.pages,
        indexAt,
        summaryAt,
        filterAt,
        salt: this.#salt,
        footerAt: this.#written,
        summaryCrc: crc32(summary),
        filterCrc: crc32(filter),
        sums: this.#sums,
      }),
    );
    return this.#written;
  }

  #finishPage(): void {
    const { alignment } = this.#sink;
    const end = Math.ceil((this.#used + CRC_SIZE) / alignment) * alignment;
    if (end > this.#page.length) this.#growPage(end - this.#used);
    this.#page.fill(0, this.#used, end);
    this.#view.setUint32(0, this.#pageEntries, true);
    this.#view.setUint32(4, this.#used, true);
    const seed = placeSeed({ format: FORMAT_VERSION, salt: this.#salt }, this.#index.pages - 1);
    this.#view.setUint32(end - CRC_SIZE, crc32(this.#page.subarray(0, end - CRC_SIZE), seed), true);
    this.#write(this.#page.subarray(0, end));
    this.#used = PAGE_HEADER;
    this.#pageEntries = 0;
  }

  #growPage(more: number): void {
    const larger = new Uint8Array((this.#used + more) * 2);
    larger.set(this.#page.subarray(0, this.#used));
    this.#page = larger;
    this.#view = new DataView(larger.buffer);
  }

  #write(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#sink.write(bytes);
    this.#written += bytes.length;
  }
}

/** Writes the blocks of the index aside, each with its CRC-32 at the end, and collects their first keys. */
class IndexWriter {
  readonly #family: RunFamily;
  readonly #sink: RunSink;
  readonly #salt: number;
  readonly #entrySize: number;
  readonly #block: Uint8Array;
  readonly #view: DataView;
  #blockPages = 0;
  #summary = new Uint8Array(1024);
  #blocks = 0;
  pages = 0;

  constructor(family: RunFamily, sink: RunSink, salt: number) {
    this.#family = family;
    this.#sink = sink;
    this.#salt = salt;
    this.#entrySize = indexEntrySize(family);
    this.#block = new Uint8Array(this.#entrySize * PAGES_PER_BLOCK + 4);
    this.#view = new DataView(this.#block.buffer);
  }

  addPage(keys: Uint8Array, keyAt: number, offset: number): void {
    const { keySize } = this.#family;
    if (this.#blockPages === PAGES_PER_BLOCK) this.finishBlock();
    const at = this.#blockPages * this.#entrySize;
    for (let i = 0; i < keySize; i++) this.#block[at + i] = keys[keyAt + i]!;
    this.#view.setUint32(at + keySize, offset % 0x1_0000_0000, true);
    this.#view.setUint16(at + keySize + 4, Math.floor(offset / 0x1_0000_0000), true);
    if (this.#blockPages === 0) this.#addToSummary(at);
    this.#blockPages++;
    this.pages++;
  }

  /** Ends the block, unless it is empty. */
  finishBlock(): void {
    if (this.#blockPages === 0) return;
    const length = this.#blockPages * this.#entrySize;
    const seed = placeSeed({ format: FORMAT_VERSION, salt: this.#salt }, ~(this.#blocks - 1));
    this.#view.setUint32(length, crc32(this.#block.subarray(0, length), seed), true);
    this.#sink.writeAside(this.#block.subarray(0, length + 4));
    this.#blockPages = 0;
  }

  /** Returns the first keys of all blocks. */
  get summary(): Uint8Array {
    return this.#summary.subarray(0, this.#blocks * this.#family.keySize);
  }

  #addToSummary(at: number): void {
    const { keySize } = this.#family;
    const end = ++this.#blocks * keySize;
    if (end > this.#summary.length) {
      const larger = new Uint8Array(this.#summary.length * 2);
      larger.set(this.#summary);
      this.#summary = larger;
    }
    this.#summary.set(this.#block.subarray(at, at + keySize), end - keySize);
  }
}
