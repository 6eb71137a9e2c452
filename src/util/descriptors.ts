import { closeSync, openSync } from 'node:fs';
import { openLibc } from './libc.ts';

const RLIMIT_NOFILE = 7;
/** A limit above this is as good as none: the kernel's own default for one process. */
const MOST = 1 << 20;
const SPARE_FILE = '/dev/null';
const RETRY_MS = 5;

/** How many descriptors the process may have open, and how many that were before `raiseDescriptorLimit`. */
export interface DescriptorLimit {
  readonly limit: number;
  readonly before: number;
}

/**
 * Raises the soft limit of open descriptors to the hard one. Null where the system's C library is not known; the process
 * then has the limit it was started with.
 */
export function raiseDescriptorLimit(): DescriptorLimit | null {
  const libc = openLibc({
    getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
    setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  });
  const limits = new BigUint64Array(2);
  if (libc === null || libc.getrlimit(RLIMIT_NOFILE, limits) !== 0) return null;
  const [soft, hard] = limits as unknown as [bigint, bigint];
  const before = atMost(soft);
  const limit = atMost(hard);
  if (limit <= before) return { limit: before, before };
  limits[0] = BigInt(limit);
  return { limit: libc.setrlimit(RLIMIT_NOFILE, limits) === 0 ? limit : before, before };
}

function atMost(limit: bigint): number {
  return limit < BigInt(MOST) ? Number(limit) : MOST;
}

/** Descriptors that this thread holds open on nothing, to be given up when something that is needed finds none. */
const spare: number[] = [];
let wanted = 0;
let waitMs = 0;

/**
 * Holds `count` descriptors in reserve for this thread. A thread that may wait does so for `patienceMs` until others
 * have closed some; 0 for one that must not.
 */
export function reserveDescriptors(count: number, patienceMs: number): void {
  wanted = count;
  waitMs = patienceMs;
  refillReserve();
}

/** Takes back what was given up, as far as there is room. True where the reserve is whole. */
export function refillReserve(): boolean {
  try {
    while (spare.length < wanted) spare.push(openSync(SPARE_FILE, 'r'));
  } catch (error) {
    if (!isShortage(error)) throw error;
  }
  return isReserveWhole();
}

/** False where this thread has given up its reserve. */
export function isReserveWhole(): boolean {
  return spare.length >= wanted;
}

/**
 * Does what opens files, again where there were no descriptors: first with those in reserve, then after a wait. `open`
 * must leave nothing open where it throws. Throws what it throws.
 */
export function withDescriptors<T>(open: () => T): T {
  const until = performance.now() + waitMs;
  for (;;) {
    try {
      return open();
    } catch (error) {
      if (!isShortage(error)) throw error;
      if (!giveUpReserve()) {
        if (performance.now() >= until) throw error;
        Bun.sleepSync(RETRY_MS);
      }
    }
  }
}

/** Whether `count` descriptors can be opened at this moment, if need be those in reserve. */
export function hasDescriptors(count: number): boolean {
  const opened: number[] = [];
  try {
    withDescriptors(() => {
      while (opened.length < count) opened.push(openSync(SPARE_FILE, 'r'));
    });
    return true;
  } catch (error) {
    if (!isShortage(error)) throw error;
    return false;
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

/** True where an error says that there were no descriptors. SQLite says only that it could not open a file. */
export function isShortage(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'EMFILE' || code === 'ENFILE') return true;
  if (typeof code !== 'string' || !code.startsWith('SQLITE_CANTOPEN')) return false;
  try {
    closeSync(openSync(SPARE_FILE, 'r'));
    return false;
  } catch (probe) {
    return isShortage(probe);
  }
}

function giveUpReserve(): boolean {
  if (spare.length === 0) return false;
  for (const fd of spare.splice(0)) closeSync(fd);
  return true;
}
