import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DecodeError } from '../util/bytes.ts';
import { isShortage, withDescriptors } from '../util/descriptors.ts';
import { OperatorError } from '../util/operator-error.ts';
import { syncDirectory } from '../util/sync-directory.ts';
import { syncAgainAdvice } from './chain-folder.ts';

/** Position of a record: of its bytes after the magic and the size. */
export interface FilePosition {
  readonly file: number;
  readonly offset: number;
  readonly size: number;
}

/** Size limit of a file of records, as in Core, bytes. */
export const FILE_LIMIT = 128 * 1024 * 1024;
const BUFFER_SIZE = 8 * 1024 * 1024;
/** Bytes of magic and size before a record. */
export const RECORD_HEADER = 8;
const OPEN_FILES_LIMIT = 32;

/** Block files, undo files and filter files. */
export type RecordKind = 'blk' | 'rev' | 'flt';

export function recordFileName(dir: string, kind: RecordKind, file: number): string {
  return join(dir, `${kind}${String(file).padStart(5, '0')}.dat`);
}

/** Returns the numbers of the files of a kind in ascending order; none without the folder. */
export function recordFileNumbers(dir: string, kind: RecordKind): number[] {
  if (!existsSync(dir)) return [];
  const numbers = readdirSync(dir).flatMap((name) => {
    const [, digits] = new RegExp(`^${kind}(\\d{5,})\\.dat$`).exec(name) ?? [];
    return digits === undefined ? [] : [Number(digits)];
  });
  return numbers.sort((a, b) => a - b);
}

/** Returns the end of the last file of a kind, whatever a database refers to. */
export function endOfFiles(dir: string, kind: RecordKind): { file: number; length: number } {
  const file = recordFileNumbers(dir, kind).at(-1);
  return file === undefined ? { file: 0, length: 0 } : { file, length: statSync(recordFileName(dir, kind, file)).size };
}

/**
 * Removes a file, and yields after each step. The file is truncated first: readers that have it open would otherwise
 * keep its space on the disk. The removal is durable after `syncDirectory`.
 */
export function* recordFileRemoval(dir: string, kind: RecordKind, file: number): Generator<string, void> {
  const name = recordFileName(dir, kind, file);
  try {
    truncateSync(name, 0);
    yield `${kind} file ${file} truncated`;
    unlinkSync(name);
    yield `${kind} file ${file} removed`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Appends records of `magic, u32 size, bytes` to numbered files. `sync` makes them durable. */
export class RecordWriter {
  readonly #dir: string;
  readonly #kind: RecordKind;
  readonly #magic: number;
  readonly #fileLimit: number;
  readonly #buffer = Buffer.allocUnsafe(BUFFER_SIZE);
  #buffered = 0;
  #file: number;
  #fd: number;
  /** Length of the file with the buffered bytes. */
  #length: number;
  #dirty = false;

  /**
   * Continues at `end` and truncates the file there, since no commit refers to later bytes. `fileLimit`: size from which
   * on the next file is begun, bytes. Throws OperatorError if the file is shorter.
   */
  constructor(
    dir: string,
    kind: RecordKind,
    magic: number,
    end: { file: number; length: number },
    fileLimit = FILE_LIMIT,
  ) {
    if (mkdirSync(dir, { recursive: true, mode: 0o700 }) !== undefined) syncDirectory(dirname(dir));
    this.#dir = dir;
    this.#kind = kind;
    this.#magic = magic;
    this.#fileLimit = fileLimit;
    this.#file = end.file;
    this.#length = end.length;
    this.#fd = this.#open(end.file, end.length);
  }

  /** Position at which the next record begins. */
  get end(): { file: number; length: number } {
    return { file: this.#file, length: this.#length };
  }

  append(record: Uint8Array): FilePosition {
    if (this.#length > 0 && this.#length + RECORD_HEADER + record.length > this.#fileLimit) this.#nextFile();
    if (this.#buffered + RECORD_HEADER + record.length > BUFFER_SIZE) this.#write();
    this.#buffer.writeUInt32LE(this.#magic, this.#buffered);
    this.#buffer.writeUInt32LE(record.length, this.#buffered + 4);
    this.#buffered += RECORD_HEADER;
    this.#length += RECORD_HEADER;
    const offset = this.#length;
    this.#dirty = true;
    if (RECORD_HEADER + record.length > BUFFER_SIZE) {
      // Undo data of a block that spends very long scripts may exceed the buffer.
      this.#write();
      this.#writeAll(record, offset);
    } else {
      this.#buffer.set(record, this.#buffered);
      this.#buffered += record.length;
    }
    this.#length += record.length;
    return { file: this.#file, offset, size: record.length };
  }

  /** Writes the buffered bytes, so that other connections can read them. */
  flush(): void {
    this.#write();
  }

  /** Makes all appended records durable. */
  sync(): void {
    if (!this.#dirty) return;
    this.#write();
    fsyncSync(this.#fd);
    this.#dirty = false;
  }

  /** Closes the file and drops what was not synced: no commit refers to it. */
  close(): void {
    closeSync(this.#fd);
  }

  /** Opens a file and truncates it to `length`. Throws OperatorError if it is shorter. */
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
    // The new file is opened first: if that fails, the old descriptor is still open, and not a number that may soon
    // belong to another file.
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

/** Reads records or parts of them; keeps at most 32 files open. */
export class RecordReader {
  readonly #dir: string;
  readonly #kind: RecordKind;
  readonly #open = new Map<number, number>();

  constructor(dir: string, kind: RecordKind) {
    this.#dir = dir;
    this.#kind = kind;
  }

  /** Returns `length` bytes of a record from `from` on. Throws DecodeError if the file ends early. */
  read(position: FilePosition, from = 0, length = position.size - from): Uint8Array {
    const bytes = new Uint8Array(length);
    const fd = this.#fd(position.file);
    let done = 0;
    while (done < length) {
      const count = readSync(fd, bytes, done, length - done, position.offset + from + done);
      if (count === 0)
        throw new DecodeError(`${recordFileName(this.#dir, this.#kind, position.file)} ends within a record`);
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

  /** Opens a file; closes another one if there is a shortage of descriptors. */
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
