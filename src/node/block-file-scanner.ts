import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { withDescriptors } from '../util/descriptors.ts';

export interface FoundBlock {
  /** Offset of the record, which begins with the magic. */
  readonly offset: number;
  readonly raw: Uint8Array;
}

const RECORD_HEADER = 8;
const HEADER_SIZE = 80;
const WINDOW = 1 << 16;
/** A block of four million weight units has at most four million bytes. */
const MAX_BLOCK_SIZE = 4_000_000;

/** Reads `magic, u32 size, block` records. Bytes between records and a truncated last record are skipped. */
export class BlockFileScanner {
  readonly size: number;
  readonly #fd: number;
  readonly #magic: number;
  readonly #window = Buffer.alloc(WINDOW);
  #windowAt = 0;
  #windowLength = 0;
  #pos = 0;

  constructor(path: string, magic: number) {
    this.#fd = withDescriptors(() => openSync(path, 'r'));
    this.#magic = magic;
    this.size = fstatSync(this.#fd).size;
  }

  /** The offset up to which the file has been read. */
  get position(): number {
    return this.#pos;
  }

  next(): FoundBlock | null {
    for (;;) {
      const offset = this.#findMagic();
      if (offset < 0) return null;
      const size = this.#u32(offset + 4);
      if (size < HEADER_SIZE || size > MAX_BLOCK_SIZE || offset + RECORD_HEADER + size > this.size) {
        // These bytes equal the magic by chance, or begin a record that was never finished.
        this.#pos = offset + 1;
        continue;
      }
      this.#pos = offset + RECORD_HEADER + size;
      return { offset, raw: this.#bytes(offset + RECORD_HEADER, size) };
    }
  }

  /** Returns the block whose record begins at `offset`. */
  readAt(offset: number): Uint8Array {
    return this.#bytes(offset + RECORD_HEADER, this.#u32(offset + 4));
  }

  close(): void {
    closeSync(this.#fd);
  }

  #findMagic(): number {
    const first = this.#magic & 0xff;
    for (let at = this.#pos; at + RECORD_HEADER <= this.size; ) {
      this.#load(at);
      const start = at - this.#windowAt;
      if (this.#windowLength - start >= 4 && this.#window.readUInt32LE(start) === this.#magic) return at;
      // Files are padded with zeros, up to megabytes of them.
      const found = this.#window.subarray(0, this.#windowLength).indexOf(first, start + 1);
      at = found < 0 ? this.#windowAt + this.#windowLength : this.#windowAt + found;
    }
    this.#pos = this.size;
    return -1;
  }

  #u32(at: number): number {
    this.#load(at);
    return this.#window.readUInt32LE(at - this.#windowAt);
  }

  /** Fills the window so that it holds at least the record header at `at`. */
  #load(at: number): void {
    if (at >= this.#windowAt && at + RECORD_HEADER <= this.#windowAt + this.#windowLength) return;
    this.#windowAt = at;
    this.#windowLength = readSync(this.#fd, this.#window, 0, WINDOW, at);
  }

  #bytes(at: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const count = readSync(this.#fd, bytes, done, length - done, at + done);
      if (count === 0) throw new Error('the file became shorter while it was read');
      done += count;
    }
    return bytes;
  }
}
