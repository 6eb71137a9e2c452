import { type Pointer, toArrayBuffer } from 'bun:ffi';
import { readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { openLibc } from '../util/libc.ts';

/** The first member of the header: the version of its format (sqlite.org/walformat.html). */
const FORMAT = 3_007_000;
const FORMAT_AT = 0;
/** Index of the counter that each commit increments, and of the two sums of the members before them. */
const CHANGE_AT = 2;
const SUMS_AT = 10;
/** Length of the first page of the file, of which the header is the beginning. */
const PAGE_BYTES = 4096;
const PROT_READ = 1;
const MAP_SHARED = 1;
/** The result of mmap for an error, -1, as the number of an address. */
const MAP_FAILED = 2 ** 64 - 1;
const CLOSED = new Uint32Array(0);

/** Identifies the last commit of a database. */
export interface WalMark {
  readonly change: number;
  readonly first: number;
  readonly second: number;
}

/**
 * The header of a database's WAL index, which SQLite writes with each commit and shares between all connections. To see
 * that nothing was committed, SQLite compares the same header, but locks the file before and releases it afterwards,
 * which takes longer than most replies.
 */
export class WalIndex {
  readonly #libc: Libc;
  readonly #address: Pointer;
  #header: Uint32Array;

  private constructor(libc: Libc, address: Pointer) {
    this.#libc = libc;
    this.#address = address;
    this.#header = new Uint32Array(toArrayBuffer(address, 0, PAGE_BYTES));
  }

  /** Returns null where the index cannot be mapped. A connection of this process must have the database open. */
  static map(database: string): WalIndex | null {
    const libc = openMmap();
    const descriptor = libc && sharedDescriptor(`${database}-shm`);
    if (!libc || descriptor === null) return null;
    const address = libc.mmap(null, PAGE_BYTES, PROT_READ, MAP_SHARED, descriptor, 0);
    if (typeof address !== 'number' || address < 0 || address >= MAP_FAILED) return null;
    const index = new WalIndex(libc, address);
    if (index.#header[FORMAT_AT] === FORMAT) return index;
    index.close();
    return null;
  }

  /** Must not be used afterwards. */
  close(): void {
    this.#header = CLOSED;
    this.#libc.munmap(this.#address, PAGE_BYTES);
  }

  /** Returns the mark of the last commit. */
  mark(): WalMark {
    return { change: this.#header[CHANGE_AT]!, first: this.#header[SUMS_AT]!, second: this.#header[SUMS_AT + 1]! };
  }

  /** Whether the last commit is the one of a mark. False while a commit writes the header. */
  isAt({ change, first, second }: WalMark): boolean {
    const header = this.#header;
    return header[CHANGE_AT] === change && header[SUMS_AT] === first && header[SUMS_AT + 1] === second;
  }
}

/**
 * Returns the descriptor that SQLite has of a file. It is not opened a second time: closing any descriptor of a file
 * releases all locks that this process holds on it.
 */
function sharedDescriptor(path: string): number | null {
  try {
    const real = realpathSync(path);
    const found = readdirSync('/proc/self/fd').find((name) => linkOf(name) === real);
    return found === undefined ? null : Number(found);
  } catch {
    return null;
  }
}

function linkOf(descriptor: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // Closed since it was listed.
    return null;
  }
}

type Libc = NonNullable<ReturnType<typeof openMmap>>;

function openMmap() {
  return openLibc({
    mmap: { args: ['ptr', 'u64', 'i32', 'i32', 'i32', 'i64'], returns: 'ptr' },
    munmap: { args: ['ptr', 'u64'], returns: 'i32' },
  });
}
