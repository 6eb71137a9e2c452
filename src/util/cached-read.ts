import { ptr } from 'bun:ffi';
import { adviseWillNeed } from './file-advice.ts';
import { openLibc } from './libc.ts';

/** Reads return what is in the system's cache without waiting for the disk. */
const RWF_NOWAIT = 8;
const LIMIT = 1 << 16;

type Preadv2 = (fd: number, vectors: number, count: number, offset: number, flags: number) => number;

/** Has a buffer from the start: the engine does not move its contents, whose address the system knows. */
const bytes = new Uint8Array(new ArrayBuffer(LIMIT));
/** A struct iovec: address and length, in halves. */
const vector = new Uint32Array(new ArrayBuffer(16));
let vectorAddress = 0;
let preadv2: Preadv2 | null | undefined;

/**
 * Returns bytes of a file that are in the system's cache, valid until the next call. Otherwise returns null, and the
 * system begins to read them, as it does where it does not know.
 */
export function readIfCached(fd: number, at: number, length: number): Uint8Array | null {
  if (preadv2 === undefined) preadv2 = openPreadv2();
  if (preadv2 !== null && length <= LIMIT) {
    vector[2] = length;
    if (preadv2(fd, vectorAddress, 1, at, RWF_NOWAIT) === length)
      return length === LIMIT ? bytes : bytes.subarray(0, length);
  }
  adviseWillNeed(fd, at, length);
  return null;
}

function openPreadv2(): Preadv2 | null {
  const libc = openLibc({ preadv2: { args: ['i32', 'ptr', 'i32', 'i64', 'i32'], returns: 'i32' } });
  if (libc === null) return null;
  const address = ptr(bytes);
  vector[0] = address % 0x1_0000_0000;
  vector[1] = Math.floor(address / 0x1_0000_0000);
  vectorAddress = ptr(vector);
  return libc.preadv2 as unknown as Preadv2;
}
