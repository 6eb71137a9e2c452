import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
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
/** The index of the file, the four numbers, when they were written, and whether the run has ended well. */
const NUMBERS = 7;
const FILE_BYTES = NUMBERS_AT + 8 * NUMBERS;
const WRITTEN_AT = FILE_BYTES - 16;
/** Size of the files of earlier builds, which do not say when they were written. */
const EARLIER_BYTES = FILE_BYTES - 8;
const ENDED = 1;
/** Time between reading the clock and the change that the file system notes, milliseconds; a write beyond it is repeated. */
const WRITE_MS = 100;
const WRITE_ATTEMPTS = 3;

/**
 * A small file with the numbers that the present run has given. They are written without a sync, one write for each group
 * of events and before any client can receive them. So they survive the death of the process but not that of the system;
 * the file names the boot of the system, and a later one does not trust it. Nor does it trust a copy, which can be older
 * than the database beside it: a copy has another index, or was changed later than its content says. A run that ends well
 * syncs the file, which is then valid at any boot.
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
    const found = this.#find(tag);
    return found && (found.isEnded || found.isOwn) ? found.given : null;
  }

  /**
   * Whether the run with this tag was the last one to begin a file. A copy of a running node does not show that: its file
   * can be older than its database.
   */
  isNewest(tag: string): boolean {
    return this.#find(tag)?.isOwn ?? false;
  }

  #find(tag: string): { given: GivenNumbers; isEnded: boolean; isOwn: boolean } | null {
    const bytes = Buffer.alloc(FILE_BYTES);
    let fd: number;
    try {
      fd = openSync(this.#path, constants.O_RDONLY);
    } catch {
      return null;
    }
    try {
      const size = readSync(fd, bytes, 0, FILE_BYTES, 0);
      if (size === EARLIER_BYTES) {
        // Its last number is whether the run has ended well. After a kill it could be an older copy, and is not trusted.
        bytes.copy(bytes, FILE_BYTES - 8, EARLIER_BYTES - 8, EARLIER_BYTES);
        bytes.writeDoubleLE(0, WRITTEN_AT);
      } else if (size !== FILE_BYTES) return null;
      const numbers = Array.from({ length: NUMBERS }, (_, i) => bytes.readDoubleLE(NUMBERS_AT + 8 * i));
      const [file, last, lastCause, highest, unsavedFrom, writtenAt, ended] = numbers as [
        ...[number, number, number, number, number, number, number],
      ];
      if (bytes.toString('latin1', 0, TAG_BYTES) !== tag || !numbers.every(Number.isSafeInteger)) return null;
      const { ino, ctimeMs } = fstatSync(fd);
      const isOfThisBoot = bytes.subarray(TAG_BYTES, NUMBERS_AT).equals(bootId());
      // Restoring a copy changes the file, also where it keeps the index or the index is used again.
      const isOwn = isOfThisBoot && file === ino && isSameTime(writtenAt, ctimeMs);
      return { given: { last, lastCause, highest, unsavedFrom }, isEnded: ended === ENDED, isOwn };
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
    // The rename has changed the file.
    this.#write(NONE_GIVEN);
  }

  /**
   * Stores the numbers. It must be called before the events are delivered. Throws where the file can neither be written
   * nor be made invalid: then the events must not be delivered, since the next start would not know of them.
   */
  record(given: GivenNumbers): void {
    if (this.#fd === null) return;
    try {
      this.#write(given);
    } catch (cause) {
      this.#invalidate(cause);
    }
  }

  /** A wrong number would hide lost events; without the file the next start assumes that all of its numbers were given. */
  #invalidate(cause: unknown): void {
    try {
      // The descriptor stays open: the next call may write the whole file again.
      ftruncateSync(this.#fd!, 0);
    } catch {
      try {
        rmSync(this.#path, { force: true });
      } catch {
        throw new Error(`${this.#path} can be neither written nor removed: events would be lost without a gap`, {
          cause,
        });
      }
      this.#close();
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
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      const writtenAt = Date.now();
      this.#bytes.writeDoubleLE(writtenAt, WRITTEN_AT);
      if (writeSync(this.#fd!, this.#bytes, 0, FILE_BYTES, 0) !== FILE_BYTES)
        throw new Error(`${this.#path}: the numbers are not written in full`);
      // Otherwise the process was suspended in between.
      if (isSameTime(writtenAt, fstatSync(this.#fd!).ctimeMs)) return;
    }
  }

  #close(): void {
    const fd = this.#fd;
    this.#fd = null;
    if (fd !== null) closeSync(fd);
  }
}

function isSameTime(writtenAt: number, changedAt: number): boolean {
  return Math.abs(changedAt - writtenAt) <= WRITE_MS;
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
