import { closeSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { openLibc } from '../../../src/util/libc.ts';

const POSIX_FADV_DONTNEED = 4;

type Libc = { posix_fadvise(fd: number, offset: number, length: number, advice: number): number };

/** The system's cache of the files of a folder; it is emptied without touching that of other files. */
export class PageCache {
  readonly #libc: Libc;
  readonly #descriptors: number[] = [];

  constructor(dir: string) {
    const libc = openLibc({ posix_fadvise: { args: ['i32', 'i64', 'i64', 'i32'], returns: 'i32' } }) as Libc | null;
    if (libc === null) throw new Error('the C library of this system is not known');
    this.#libc = libc;
    for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) this.#descriptors.push(openSync(join(entry.parentPath, entry.name), 'r'));
  }

  drop(): void {
    for (const fd of this.#descriptors) this.#libc.posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  }

  close(): void {
    for (const fd of this.#descriptors) closeSync(fd);
  }
}
