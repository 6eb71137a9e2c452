import type { Run } from './run.ts';
import { compareKeys, PAGE_SIZE } from './run-format.ts';
import { DecodedPage } from './run-page.ts';

/** Pages that a scan of a whole run reads at once. */
const READ_AHEAD_PAGES = 64;

/** A position in a run, which moves over its entries in either direction. */
export class RunCursor {
  readonly run: Run;
  readonly #keySize: number;
  /** The page of a sequential cursor, which is decoded into the same arrays again. */
  readonly #decoded = new DecodedPage();
  #page: DecodedPage | null = null;
  #pageNumber = -1;
  #index = 0;
  readonly #ahead: PageReader | null;

  /** `sequential`: reads many pages at once, for scans of a whole run. */
  constructor(run: Run, sequential = false) {
    this.run = run;
    this.#keySize = run.family.keySize;
    this.#ahead = sequential ? new PageReader(run) : null;
  }

  /** Whether the cursor is at an entry. */
  get valid(): boolean {
    return this.#page !== null;
  }

  /** The keys of the current page; the current key begins at `keyAt`. */
  get keys(): Uint8Array {
    return this.#page!.keys;
  }

  get keyAt(): number {
    return this.#index * this.#keySize;
  }

  get removed(): boolean {
    return this.#page!.removed[this.#index] === 1;
  }

  get bytes(): Uint8Array {
    return this.#page!.bytes;
  }

  get from(): number {
    return this.#page!.from[this.#index]!;
  }

  get to(): number {
    return this.#page!.to[this.#index]!;
  }

  /** Whether the next entry has the same key. Entries of one key lie in one page. */
  get repeats(): boolean {
    const page = this.#page!;
    const next = this.#index + 1;
    if (next >= page.count) return false;
    return compareKeys(page.keys, this.keyAt, page.keys, next * this.#keySize, this.#keySize) === 0;
  }

  /** Whether the entry before has the same key. */
  get repeatsBefore(): boolean {
    const { keys } = this.#page!;
    return this.#index > 0 && compareKeys(keys, this.keyAt, keys, this.keyAt - this.#keySize, this.#keySize) === 0;
  }

  seekFirst(): void {
    this.#load(0);
    this.#index = 0;
  }

  seekLast(): void {
    this.#load(this.run.pages - 1);
    if (this.#page !== null) this.#index = this.#page.count - 1;
  }

  /** Moves to the first entry whose key is at least `key`. */
  seekFrom(key: Uint8Array): void {
    this.#load(Math.max(0, this.run.lastPageBelow(key)));
    this.#index = 0;
    while (this.valid && compareKeys(this.keys, this.keyAt, key, 0, this.#keySize) < 0) this.next();
  }

  /** Moves to the last entry whose key is below `key`. */
  seekBelow(key: Uint8Array): void {
    this.#load(this.run.lastPageBelow(key));
    if (!this.valid) return;
    this.#index = this.#page!.count - 1;
    while (this.valid && compareKeys(this.keys, this.keyAt, key, 0, this.#keySize) >= 0) this.previous();
  }

  next(): void {
    if (++this.#index < this.#page!.count) return;
    this.#load(this.#pageNumber + 1);
    this.#index = 0;
  }

  previous(): void {
    if (--this.#index >= 0) return;
    this.#load(this.#pageNumber - 1);
    if (this.#page !== null) this.#index = this.#page.count - 1;
  }

  #load(number: number): void {
    this.#pageNumber = number;
    if (number < 0 || number >= this.run.pages) {
      this.#page = null;
      return;
    }
    if (this.#ahead === null) {
      this.#page = this.run.decodedPage(number);
      return;
    }
    this.#decoded.decode(this.run.family, this.#ahead.read(number));
    this.#page = this.#decoded;
  }
}

/** Reads the pages of a run in order, many at once. */
class PageReader {
  readonly #run: Run;
  #first = 0;
  #pages: Uint8Array[] = [];
  /** The two buffers alternate, since the last entries of the previous pages may still be in use. */
  readonly #buffers: Uint8Array[];

  constructor(run: Run) {
    this.#run = run;
    const size = Math.min(run.pages, READ_AHEAD_PAGES) * PAGE_SIZE;
    this.#buffers =
      run.pages <= READ_AHEAD_PAGES ? [new Uint8Array(size)] : [new Uint8Array(size), new Uint8Array(size)];
  }

  read(number: number): Uint8Array {
    if (number < this.#first || number >= this.#first + this.#pages.length) {
      this.#first = number;
      this.#buffers.reverse();
      this.#pages = this.#run.readPages(number, READ_AHEAD_PAGES, this.#buffers[0]!);
    }
    const page = this.#pages[number - this.#first]!;
    this.#run.verifyPage(number, page);
    return page;
  }
}
