import { closeSync, fdatasyncSync, fstatSync, fsyncSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { DecodeError } from '../../util/bytes.ts';
import { readIfCached } from '../../util/cached-read.ts';
import { withDescriptors } from '../../util/descriptors.ts';
import { isInMemory } from '../../util/memory-file-system.ts';

/** The bytes of a run. */
export interface RunSource {
  readonly size: number;
  /** Name for error messages. */
  readonly name: string;
  /** Returns `length` bytes at `at`, in `buffer` or as a view of the stored ones. Throws if they are not there. */
  read(at: number, length: number, buffer: Uint8Array): Uint8Array;
  /** As `read`, valid until the next call of any source; null if the disk has to be read, which the system begins. */
  readIfCached(at: number, length: number): Uint8Array | null;
  close(): void;
}

/** A run in memory. */
export class MemorySource implements RunSource {
  readonly name: string;
  readonly #bytes: Uint8Array;

  constructor(name: string, bytes: Uint8Array) {
    this.name = name;
    this.#bytes = bytes;
  }

  get size(): number {
    return this.#bytes.length;
  }

  read(at: number, length: number): Uint8Array {
    return this.#bytes.subarray(at, at + length);
  }

  readIfCached(at: number, length: number): Uint8Array {
    return this.read(at, length);
  }

  close(): void {}
}

/** Scratch space of `readIfCached` for files in memory. */
let scratch = new Uint8Array(0);

/** A run in a file of its own. */
export class FileSource implements RunSource {
  readonly name: string;
  readonly size: number;
  readonly #fd: number;
  /** Whether no read waits for a disk. */
  readonly #isInMemory: boolean;

  constructor(path: string) {
    this.name = path;
    this.#fd = withDescriptors(() => openSync(path, 'r'));
    const { size, dev } = fstatSync(this.#fd);
    this.size = size;
    this.#isInMemory = isInMemory(dev, path);
  }

  read(at: number, length: number, buffer: Uint8Array): Uint8Array {
    let done = 0;
    while (done < length) {
      const got = readSync(this.#fd, buffer, done, length - done, at + done);
      if (got === 0) throw new DecodeError(`run ${this.name} is damaged: it ends at ${at + done} bytes`);
      done += got;
    }
    return length === buffer.length ? buffer : buffer.subarray(0, length);
  }

  readIfCached(at: number, length: number): Uint8Array | null {
    if (!this.#isInMemory) return readIfCached(this.#fd, at, length);
    if (scratch.length < length) scratch = new Uint8Array(length);
    return this.read(at, length, scratch);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Where the bytes of a new run go, in order. */
export interface RunSink {
  /** Bytes to which each page is padded, so that a page of a file lies in as few pages of the system as possible. */
  readonly alignment: number;
  write(bytes: Uint8Array): void;
  /** Keeps bytes for `drainAside`: the index, which follows the pages, of a large run does not fit memory. */
  writeAside(bytes: Uint8Array): void;
  /** Yields the kept bytes in order, in pieces. */
  drainAside(): Iterable<Uint8Array>;
}

/** Collects a small run in memory. */
export class MemorySink implements RunSink {
  readonly alignment = 1;
  #bytes = new Uint8Array(4096);
  #length = 0;
  readonly #aside: Uint8Array[] = [];

  writeAside(bytes: Uint8Array): void {
    this.#aside.push(bytes.slice());
  }

  drainAside(): Iterable<Uint8Array> {
    return this.#aside.splice(0);
  }

  write(bytes: Uint8Array): void {
    if (this.#length + bytes.length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }
}

const WRITE_BUFFER = 1 << 20;
/** Bytes after which a file is synced, so that the last sync of a large one is short. */
const SYNC_INTERVAL = 64 << 20;

/** Writes a run to a new file, readable by the owner alone. */
export class FileSink implements RunSink {
  readonly alignment = 4096;
  readonly #path: string;
  readonly #fd: number;
  readonly #buffer = new Uint8Array(WRITE_BUFFER);
  #buffered = 0;
  #unsynced = 0;
  /** File of the bytes that were written aside; it has no name any more. */
  #aside: { readonly fd: number; length: number } | null = null;

  constructor(path: string) {
    this.#path = path;
    this.#fd = withDescriptors(() => openSync(path, 'w', 0o600));
  }

  write(bytes: Uint8Array): void {
    if (this.#buffered + bytes.length > WRITE_BUFFER) this.#flush();
    if (bytes.length > WRITE_BUFFER) {
      this.#writeAll(bytes);
      return;
    }
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered += bytes.length;
  }

  writeAside(bytes: Uint8Array): void {
    this.#aside ??= openUnnamed(`${this.#path}.index`);
    writeFully(this.#aside.fd, bytes);
    this.#aside.length += bytes.length;
  }

  *drainAside(): Generator<Uint8Array> {
    if (this.#aside === null) return;
    const { fd, length } = this.#aside;
    const buffer = new Uint8Array(Math.min(WRITE_BUFFER, length));
    for (let at = 0; at < length; ) {
      const got = readSync(fd, buffer, 0, buffer.length, at);
      if (got === 0) throw new Error(`the index of ${this.#path} cannot be read`);
      yield buffer.subarray(0, got);
      at += got;
    }
    closeSync(fd);
    this.#aside = null;
  }

  /** Makes the file durable and closes it. Its directory entry is not synced. */
  finish(): void {
    this.#flush();
    fsyncSync(this.#fd);
    closeSync(this.#fd);
  }

  /** Closes and removes the file. */
  discard(): void {
    if (this.#aside !== null) closeSync(this.#aside.fd);
    closeSync(this.#fd);
    unlinkSync(this.#path);
  }

  #flush(): void {
    this.#writeAll(this.#buffer.subarray(0, this.#buffered));
    this.#buffered = 0;
  }

  #writeAll(bytes: Uint8Array): void {
    writeFully(this.#fd, bytes);
    this.#unsynced += bytes.length;
    if (this.#unsynced < SYNC_INTERVAL) return;
    fdatasyncSync(this.#fd);
    this.#unsynced = 0;
  }
}

/** Creates a file that ends with its descriptor. */
function openUnnamed(path: string): { fd: number; length: number } {
  const fd = withDescriptors(() => openSync(path, 'w+', 0o600));
  unlinkSync(path);
  return { fd, length: 0 };
}

function writeFully(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done);
}
