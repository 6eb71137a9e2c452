import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { openLibc } from './libc.ts';

const RLIMIT_NOFILE = 7;
/** Limits are capped to this, the kernel's default maximum for one process (fs.nr_open). */
const MOST = 1 << 20;
const SPARE_FILE = '/dev/null';
const OPEN_FILES = '/proc/self/fd';
const SCARCE = 1024;
const RETRY_MS = 5;

/** The limit of open descriptors, now and before `raiseDescriptorLimit`. */
export interface DescriptorLimit {
  readonly limit: number;
  readonly before: number;
}

/**
 * Raises the soft limit of open descriptors to the hard one. Null if the C library is not known; the process then keeps
 * its limit.
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

/** The reserve: descriptors of /dev/null that this thread holds, and closes when something necessary finds none. */
const spare: number[] = [];
let wanted = 0;
let waitMs = 0;

/**
 * Holds `count` descriptors in reserve for this thread. When the reserve is used up, `withDescriptors` waits up to
 * `patienceMs` for other threads to close some; 0 for a thread that must not block.
 */
export function reserveDescriptors(count: number, patienceMs: number): void {
  wanted = count;
  waitMs = patienceMs;
  refillReserve();
}

/** Refills the reserve as far as possible. Returns whether it is full. */
export function refillReserve(): boolean {
  try {
    while (spare.length < wanted) spare.push(openSync(SPARE_FILE, 'r'));
  } catch (error) {
    if (!isShortage(error)) throw error;
  }
  return isReserveWhole();
}

/** Closes the reserve of a thread that ends: the process keeps its descriptors otherwise. */
export function endReserve(): void {
  wanted = 0;
  releaseReserve();
}

/** Whether the reserve of this thread is full. */
function isReserveWhole(): boolean {
  return spare.length >= wanted;
}

/**
 * Calls `open`, and retries it if there are no descriptors: first after closing the reserve, then until the patience of
 * the thread ends. `open` must leave nothing open when it throws. Throws the error of `open`.
 */
export function withDescriptors<T>(open: () => T, patienceMs = waitMs): T {
  const until = performance.now() + patienceMs;
  for (;;) {
    try {
      return open();
    } catch (error) {
      if (!isShortage(error)) throw error;
      if (!releaseReserve()) {
        if (performance.now() >= until) throw error;
        Bun.sleepSync(RETRY_MS);
      }
    }
  }
}

/** Whether `count` descriptors can be opened within the patience of the thread, those of the reserve included. */
export function hasDescriptors(count: number, patienceMs = waitMs): boolean {
  const opened: number[] = [];
  try {
    withDescriptors(() => {
      while (opened.length < count) opened.push(openSync(SPARE_FILE, 'r'));
    }, patienceMs);
    return true;
  } catch (error) {
    if (!isShortage(error)) throw error;
    return false;
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

/**
 * Whether connections that arrive within a few milliseconds could use the last descriptors: fewer are free than SCARCE, and
 * fewer than half of the limit.
 */
export function areDescriptorsScarce(): boolean {
  if (!isReserveWhole()) return true;
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
    if (limit === undefined) return false;
    // Linux reports the number since 6.2, and 0 before that.
    const open = statSync(OPEN_FILES).size || readdirSync(OPEN_FILES).length;
    return Number(limit) - open < Math.min(SCARCE, Number(limit) / 2);
  } catch (error) {
    return isShortage(error);
  }
}

/**
 * Whether an error is a shortage of descriptors. SQLite reports only that it could not open a file, so this tries to
 * open one.
 */
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

function releaseReserve(): boolean {
  if (spare.length === 0) return false;
  for (const fd of spare.splice(0)) closeSync(fd);
  return true;
}
