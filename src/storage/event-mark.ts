import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../util/sync-directory.ts';

/** Numbers that one run of the writer has given to events of the mempool, which are in memory only; 0 for none. */
export interface GivenNumbers {
  /** The newest event. */
  readonly last: number;
  /** The newest event that messages about watched items and wallets are derived from. */
  readonly lastCause: number;
  /** The newest number of all, also of changes without an event. */
  readonly highest: number;
  /** The oldest transaction in the mempool that is not saved: a kill removes it without an event. */
  readonly unsavedFrom: number;
}

export const NONE_GIVEN: GivenNumbers = { last: 0, lastCause: 0, highest: 0, unsavedFrom: 0 };

const TAG_BYTES = 8;
const BOOT_BYTES = 40;
const NUMBERS_AT = TAG_BYTES + BOOT_BYTES;
/** The index of the file, the four numbers, and whether the run has ended well. */
const NUMBERS = 6;
const FILE_BYTES = NUMBERS_AT + 8 * NUMBERS;
const ENDED = 1;

/**
 * A small file with the numbers that the present run has given. They are written without a sync, one write for each group
 * of events and before any client can receive them. So they survive the death of the process but not that of the system;
 * the file names the boot of the system, and a later one does not trust it. Nor does it trust a copy, which can be older
 * than the database beside it. A run that ends well syncs the file, which is then valid at any boot.
 */
export class EventMark implements Disposable {
  readonly #path: string;
  readonly #bytes = Buffer.alloc(FILE_BYTES);
  #fd: number | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the numbers of the run with this tag; null if they are unknown. */
  read(tag: string): GivenNumbers | null {
    const bytes = Buffer.alloc(FILE_BYTES);
    let fd: number;
    try {
      fd = openSync(this.#path, constants.O_RDONLY);
    } catch {
      return null;
    }
    try {
      if (readSync(fd, bytes, 0, FILE_BYTES, 0) !== FILE_BYTES) return null;
      const numbers = Array.from({ length: NUMBERS }, (_, i) => bytes.readDoubleLE(NUMBERS_AT + 8 * i));
      const [file, last, lastCause, highest, unsavedFrom, ended] = numbers as [
        ...[number, number, number, number, number, number],
      ];
      if (bytes.toString('latin1', 0, TAG_BYTES) !== tag || !numbers.every(Number.isSafeInteger)) return null;
      const isOfThisBoot = bytes.subarray(TAG_BYTES, NUMBERS_AT).equals(bootId()) && file === fstatSync(fd).ino;
      return ended === ENDED || isOfThisBoot ? { last, lastCause, highest, unsavedFrom } : null;
    } finally {
      closeSync(fd);
    }
  }

  /** Begins the run with this tag, which has given no number. Throws if the file cannot be written. */
  begin(tag: string): void {
    this.#close();
    const begun = `${this.#path}.new`;
    rmSync(begun, { force: true });
    this.#fd = openSync(begun, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    this.#bytes.fill(0);
    this.#bytes.write(tag, 'latin1');
    // Without the id of the boot the file is trusted only after a run that has ended well.
    bootId().copy(this.#bytes, TAG_BYTES);
    this.#bytes.writeDoubleLE(fstatSync(this.#fd).ino, NUMBERS_AT);
    this.#write(NONE_GIVEN);
    fsyncSync(this.#fd);
    // If this process dies here, the file is that of the run before, and this run has given no number.
    renameSync(begun, this.#path);
    // Otherwise a power failure could bring back the file of the run before, which is trusted if that has ended well.
    syncDirectory(dirname(this.#path));
  }

  /** Stores the numbers. It must be called before the events are delivered. Never throws. */
  record(given: GivenNumbers): void {
    if (this.#fd === null) return;
    try {
      this.#write(given);
    } catch {
      // A wrong number would hide lost events; without the file the next start assumes that all of its numbers were given.
      try {
        rmSync(this.#path, { force: true });
        this.#close();
      } catch {
        // The descriptor stays open: the next call writes or removes the file again.
      }
    }
  }

  /** Ends the run durably: all of its events are delivered or lost, and the mempool is saved. */
  end(given: GivenNumbers): void {
    if (this.#fd === null) return;
    this.#bytes.writeDoubleLE(ENDED, FILE_BYTES - 8);
    this.record(given);
    if (this.#fd !== null) fsyncSync(this.#fd);
    this.#close();
  }

  [Symbol.dispose](): void {
    this.#close();
  }

  #write({ last, lastCause, highest, unsavedFrom }: GivenNumbers): void {
    for (const [i, number] of [last, lastCause, highest, unsavedFrom].entries())
      this.#bytes.writeDoubleLE(number, NUMBERS_AT + 8 * (i + 1));
    if (writeSync(this.#fd!, this.#bytes, 0, FILE_BYTES, 0) !== FILE_BYTES)
      throw new Error(`${this.#path}: the numbers are not written in full`);
  }

  #close(): void {
    const fd = this.#fd;
    this.#fd = null;
    if (fd !== null) closeSync(fd);
  }
}

/** Returns the id of this boot of the system. Where there is none, it differs from every other. */
function bootId(): Buffer {
  const bytes = Buffer.alloc(BOOT_BYTES);
  try {
    bytes.write(readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim(), 'latin1');
  } catch {
    crypto.getRandomValues(bytes);
  }
  return bytes;
}
