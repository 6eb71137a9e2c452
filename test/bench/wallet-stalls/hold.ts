import { dlopen } from 'bun:ffi';

const CLOCK_THREAD_CPUTIME_ID = 3;
const libc = dlopen('libc.so.6', { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
const timespec = new BigInt64Array(2);

/** Returns the milliseconds of work of this thread, without the time of other processes. */
function workedMs(): number {
  libc.symbols.clock_gettime(CLOCK_THREAD_CPUTIME_ID, timespec);
  return Number(timespec[0]) * 1000 + Number(timespec[1]) / 1e6;
}

export interface Hold {
  /** Longest block of the thread, wall-clock time. */
  readonly ms: number;
  /** Longest block of the thread, its own processor time. */
  readonly workedMs: number;
  readonly result: unknown;
}

/** Measures the longest time for which the thread runs without yielding. Gives up after `limit` seconds. */
export async function longestHold(limit: number, work: (signal: AbortSignal) => Promise<unknown>): Promise<Hold> {
  let [longest, last, done] = [0, performance.now(), false];
  let [most, worked] = [0, workedMs()];
  const note = () => {
    const [now, by] = [performance.now(), workedMs()];
    longest = Math.max(longest, now - last);
    most = Math.max(most, by - worked);
    last = now;
    worked = by;
  };
  const look = () => {
    note();
    if (!done) setImmediate(look);
  };
  await new Promise(setImmediate);
  Bun.gc(true);
  last = performance.now();
  worked = workedMs();
  setImmediate(look);
  const ending = AbortSignal.timeout(limit * 1000);
  const result = await Promise.race([
    work(ending).catch((error) => error),
    new Promise((resolve) => ending.addEventListener('abort', () => resolve('given up'), { once: true })),
  ]);
  await new Promise(setImmediate);
  done = true;
  note();
  return { ms: longest, workedMs: most, result };
}
