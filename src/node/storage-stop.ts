import { statfsSync } from 'node:fs';
import { isDamage } from '../storage/database.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import { isFullDisk, storageProblem } from './storage-problem.ts';

/** Free space from which on a node that a full disk has stopped starts again, as the least that Core needs, bytes. */
const ROOM_BYTES = 50 * 1024 * 1024;

/**
 * Decides how the node goes on when storage has failed and the chain has stopped. Its memory may then differ from its files,
 * which it must read again: it ends, or on a full disk serves reads until there is space and starts again in its process.
 * Damage and internal errors end nothing, since another start would not help.
 */
export class StorageStop {
  readonly #dir: string;
  readonly #log: Log;
  readonly #freeBytes: (dir: string) => number;
  #ending: OperatorError | null = null;
  #waits = false;

  constructor(dir: string, log: Log, freeBytes: (dir: string) => number = freeBytesOf) {
    this.#dir = dir;
    this.#log = log;
    this.#freeBytes = freeBytes;
  }

  /** Notes the error that has stopped the chain. */
  onStopped(error: Error): void {
    if (this.#waits || this.#ending !== null || isDamage(error)) return;
    const problem = storageProblem(error, this.#dir);
    if (!(problem instanceof OperatorError)) return;
    if (!isFullDisk(error, this.#dir)) {
      this.#ending = problem;
      return;
    }
    this.#waits = true;
    this.#log.error('the disk is full: blocks are processed again when there is space', {
      directory: this.#dir,
      neededBytes: ROOM_BYTES,
    });
  }

  /** Returns the error with which the node ends now; null while it need not. Called about once a second. */
  ending(): OperatorError | null {
    if (this.#waits && this.#freeBytes(this.#dir) >= ROOM_BYTES)
      return new OperatorError(`there is space in ${this.#dir} again: the node starts again`, { startsAgain: true });
    return this.#ending;
  }
}

function freeBytesOf(dir: string): number {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(dir);
    // Some file systems count no files.
    return files > 0 && ffree === 0 ? 0 : bavail * bsize;
  } catch {
    return 0;
  }
}
