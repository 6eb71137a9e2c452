import { dlopen } from 'bun:ffi';

/** A call that goes on for longer is given up: its longest hold has been seen by then. */
const LONGEST_MS = 20_000;
const CLOCK_THREAD_CPUTIME_ID = 3;
const libc = dlopen('libc.so.6', { clock_gettime: { args: ['i32', 'ptr'], returns: 'i32' } });
const timespec = new BigInt64Array(2);

/** Milliseconds that this thread has worked: what other processes take does not count. */
function workedMs(): number {
  libc.symbols.clock_gettime(CLOCK_THREAD_CPUTIME_ID, timespec);
  return Number(timespec[0]) * 1000 + Number(timespec[1]) / 1e6;
}

export interface Hold {
  /** The longest, on the clock. */
  readonly ms: number;
  /** The longest, of the thread's own work. */
  readonly workedMs: number;
  readonly result: unknown;
}

/** Measures the longest time for which the thread runs without yielding. */
export async function longestHold(work: (signal: AbortSignal) => Promise<unknown>): Promise<Hold> {
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
  const ending = AbortSignal.timeout(LONGEST_MS);
  const result = await Promise.race([
    work(ending).catch((error) => error),
    new Promise((resolve) => ending.addEventListener('abort', () => resolve('given up'), { once: true })),
  ]);
  await new Promise(setImmediate);
  done = true;
  note();
  return { ms: longest, workedMs: most, result };
}
