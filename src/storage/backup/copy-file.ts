import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { equalBytes } from '../../util/bytes.ts';
import { withDescriptors } from '../../util/descriptors.ts';

/** Bytes between two yields. */
const CHUNK = 1 << 20;

/** Part of a copy that was made: bytes that were read, and those of them that were written. */
export interface CopyStep {
  readonly read: number;
  readonly written: number;
}

/** Called before bytes are written, in order to refuse them where the disk has no room. */
export type BeforeWrite = (bytes: number) => void;

/**
 * Copies the first `length` bytes of an open file, readable for the owner alone. Where an interrupted copy exists, its
 * bytes are compared with those of the source, and only those that differ or are missing are written. Yields after each
 * chunk. Returns the SHA-256 of the copy, which is then durable.
 */
export function* copyBytes(
  from: number,
  length: number,
  path: string,
  beforeWrite: BeforeWrite,
): Generator<CopyStep, string> {
  const to = withDescriptors(() => openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600));
  try {
    const hasher = new Bun.CryptoHasher('sha256');
    const source = Buffer.allocUnsafe(CHUNK);
    const copy = Buffer.allocUnsafe(CHUNK);
    const existing = fstatSync(to).size;
    for (let at = 0; at < length; ) {
      const wanted = Math.min(CHUNK, length - at);
      const bytes = source.subarray(0, readSync(from, source, 0, wanted, at));
      if (bytes.length === 0) throw new Error(`a file ends at byte ${at}, before byte ${length}, while it is copied`);
      const isThere =
        at + bytes.length <= existing &&
        readSync(to, copy, 0, bytes.length, at) === bytes.length &&
        equalBytes(copy.subarray(0, bytes.length), bytes);
      if (!isThere) {
        beforeWrite(bytes.length);
        for (let done = 0; done < bytes.length; ) done += writeSync(to, bytes, done, bytes.length - done, at + done);
      }
      hasher.update(bytes);
      at += bytes.length;
      yield { read: bytes.length, written: isThere ? 0 : bytes.length };
    }
    if (existing > length) ftruncateSync(to, length);
    fsyncSync(to);
    return hasher.digest('hex');
  } finally {
    closeSync(to);
  }
}

/** Reads a file and yields after each chunk. Returns its SHA-256. No other connection of SQLite may have it open. */
export function* hashFile(path: string): Generator<CopyStep, string> {
  const fd = withDescriptors(() => openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW));
  try {
    const hasher = new Bun.CryptoHasher('sha256');
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (;;) {
      const read = readSync(fd, buffer, 0, CHUNK, null);
      if (read === 0) return hasher.digest('hex');
      hasher.update(buffer.subarray(0, read));
      yield { read, written: 0 };
    }
  } finally {
    closeSync(fd);
  }
}

/** Fills `bytes` from a place of an open file. Returns false where the file ends before. */
export function readFully(fd: number, bytes: Uint8Array, offset: number): boolean {
  for (let done = 0; done < bytes.length; ) {
    const read = readSync(fd, bytes, done, bytes.length - done, offset + done);
    if (read === 0) return false;
    done += read;
  }
  return true;
}
