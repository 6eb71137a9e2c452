import { closeSync, fstatSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DecodeError } from '../util/bytes.ts';
import { isShortage, withDescriptors } from '../util/descriptors.ts';
import { OperatorError } from '../util/operator-error.ts';
import { syncDirectory } from '../util/sync-directory.ts';
import { syncAgainAdvice } from './chain-folder.ts';

/** Where a record lies: the bytes behind its magic and size. */
export interface FilePosition {
  readonly file: number;
  readonly offset: number;
  readonly size: number;
}

const FILE_LIMIT = 128 * 1024 * 1024;
const BUFFER_SIZE = 8 * 1024 * 1024;
const RECORD_HEADER = 8;
const OPEN_FILES_LIMIT = 32;

/** Blocks, what they spent, and block filters. */
export type RecordKind = 'blk' | 'rev' | 'flt';

export function recordFileName(dir: string, kind: RecordKind, file: number): string {
  return join(dir, `${kind}${String(file).padStart(5, '0')}.dat`);
}

/** Appends records of `magic, u32 size, bytes` to numbered files; what is appended is durable after `sync`. */
export class RecordWriter {
  readonly #dir: string;
  readonly #kind: RecordKind;
  readonly #magic: number;
  readonly #buffer = Buffer.allocUnsafe(BUFFER_SIZE);
  #buffered = 0;
  #file: number;
  #fd: number;
  /** Length of the file, with what is buffered. */
  #length: number;
  #dirty = false;

  /**
   * Goes on behind `end`, and cuts what lies there: no commit refers to it. Throws OperatorError where the file ends
   * before that.
   */
  constructor(dir: string, kind: RecordKind, magic: number, end: { file: number; length: number }) {
    if (mkdirSync(dir, { recursive: true, mode: 0o700 }) !== undefined) syncDirectory(dirname(dir));
    this.#dir = dir;
    this.#kind = kind;
    this.#magic = magic;
    this.#file = end.file;
    this.#length = end.length;
    this.#fd = this.#open(end.file, end.length);
  }

  /** Where the next record would begin. */
  get end(): { file: number; length: number } {
    return { file: this.#file, length: this.#length };
  }

  append(record: Uint8Array): FilePosition {
    if (this.#length > 0 && this.#length + RECORD_HEADER + record.length > FILE_LIMIT) this.#nextFile();
    if (this.#buffered + RECORD_HEADER + record.length > BUFFER_SIZE) this.#write();
    this.#buffer.writeUInt32LE(this.#magic, this.#buffered);
    this.#buffer.writeUInt32LE(record.length, this.#buffered + 4);
    this.#buffered += RECORD_HEADER;
    this.#length += RECORD_HEADER;
    const offset = this.#length;
    this.#dirty = true;
    if (RECORD_HEADER + record.length > BUFFER_SIZE) {
      // Undo data of a block that spends very long scripts may pass the buffer.
      this.#write();
      this.#writeAll(record, offset);
    } else {
      this.#buffer.set(record, this.#buffered);
      this.#buffered += record.length;
    }
    this.#length += record.length;
    return { file: this.#file, offset, size: record.length };
  }

  /** Hands what is buffered to the system, so that other connections can read it. */
  flush(): void {
    this.#write();
  }

  /** Makes everything appended so far survive a power cut. */
  sync(): void {
    if (!this.#dirty) return;
    this.#write();
    fsyncSync(this.#fd);
    this.#dirty = false;
  }

  /** What was not synced is dropped: no commit refers to it. */
  close(): void {
    closeSync(this.#fd);
  }

  /** Cuts it to `length`, which it must have. */
  #open(file: number, length: number): number {
    const name = recordFileName(this.#dir, this.#kind, file);
    const fd = openOrCreate(this.#dir, name);
    try {
      if (fstatSync(fd).size < length)
        throw new OperatorError(
          `${name} is shorter than the ${length} bytes that the database refers to: ${syncAgainAdvice(dirname(this.#dir))}`,
        );
      ftruncateSync(fd, length);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  #nextFile(): void {
    this.sync();
    // First the new one: when that fails, the old one is there still, and not a number that soon is another file's.
    const fd = withDescriptors(() => this.#open(this.#file + 1, 0));
    closeSync(this.#fd);
    this.#fd = fd;
    this.#file++;
    this.#length = 0;
  }

  #write(): void {
    this.#writeAll(this.#buffer.subarray(0, this.#buffered), this.#length - this.#buffered);
    this.#buffered = 0;
  }

  #writeAll(bytes: Uint8Array, at: number): void {
    let done = 0;
    while (done < bytes.length) done += writeSync(this.#fd, bytes, done, bytes.length - done, at + done);
  }
}

function openOrCreate(dir: string, name: string): number {
  try {
    return openSync(name, 'r+', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const fd = openSync(name, 'w+', 0o600);
    try {
      syncDirectory(dir);
    } catch (failure) {
      closeSync(fd);
      throw failure;
    }
    return fd;
  }
}

/** Reads parts of records; keeps at most 32 files open. */
export class RecordReader {
  readonly #dir: string;
  readonly #kind: RecordKind;
  readonly #open = new Map<number, number>();

  constructor(dir: string, kind: RecordKind) {
    this.#dir = dir;
    this.#kind = kind;
  }

  /** `length` bytes of a record, from `from`. Throws DecodeError where the file ends early. */
  read(place: FilePosition, from = 0, length = place.size - from): Uint8Array {
    const bytes = new Uint8Array(length);
    const fd = this.#fd(place.file);
    let done = 0;
    while (done < length) {
      const count = readSync(fd, bytes, done, length - done, place.offset + from + done);
      if (count === 0)
        throw new DecodeError(`${recordFileName(this.#dir, this.#kind, place.file)} ends within a record`);
      done += count;
    }
    return bytes;
  }

  close(): void {
    for (const fd of this.#open.values()) closeSync(fd);
    this.#open.clear();
  }

  #fd(file: number): number {
    let fd = this.#open.get(file);
    if (fd === undefined) {
      if (this.#open.size >= OPEN_FILES_LIMIT) this.#closeOldest();
      fd = this.#opened(recordFileName(this.#dir, this.#kind, file));
      this.#open.set(file, fd);
    }
    return fd;
  }

  /** Where there are no descriptors, in place of another file. */
  #opened(name: string): number {
    try {
      return openSync(name, 'r');
    } catch (error) {
      if (!isShortage(error)) throw error;
    }
    if (this.#open.size > 0) this.#closeOldest();
    return withDescriptors(() => openSync(name, 'r'));
  }

  #closeOldest(): void {
    const [oldest, oldestFd] = this.#open.entries().next().value!;
    closeSync(oldestFd);
    this.#open.delete(oldest);
  }
}
