import { openLibc } from './libc.ts';

const POSIX_FADV_WILLNEED = 3;

type Libc = { posix_fadvise(fd: number, offset: number, length: number, advice: number): number };
let libc: Libc | null | undefined;

/**
 * Asks the system to read bytes of a file into its cache (posix_fadvise) and returns at once. Does nothing where the C
 * library is not known.
 */
export function adviseWillNeed(fd: number, offset: number, length: number): void {
  // A library that is not known is not searched again.
  if (libc === undefined)
    libc = openLibc({ posix_fadvise: { args: ['i32', 'i64', 'i64', 'i32'], returns: 'i32' } }) as Libc | null;
  libc?.posix_fadvise(fd, offset, length, POSIX_FADV_WILLNEED);
}
