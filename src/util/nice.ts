import { readdirSync, readFileSync } from 'node:fs';
import { openLibc } from './libc.ts';

const PRIO_PROCESS = 0;
/** The kernel's name of the threads that compile hot functions, as the engine gives it. */
const COMPILER_THREAD = 'JITWorker';

let libc: ReturnType<typeof openPriorities> | undefined;

function openPriorities() {
  return openLibc({ setpriority: { args: ['i32', 'u32', 'i32'], returns: 'i32' } });
}

function setThreadPriority(thread: number, nice: number): boolean {
  if (libc === undefined) libc = openPriorities();
  return libc !== null && libc.setpriority(PRIO_PROCESS, thread, nice) === 0;
}

/**
 * Makes the calling thread yield to others: its nice value becomes `nice` (0 to 19, 19 the most yielding).
 * False where that is not possible; nothing depends on it but latency.
 */
export function lowerThreadPriority(nice: number): boolean {
  // On Linux a nice value belongs to a thread, and id 0 is the calling one.
  return setThreadPriority(0, nice);
}

/**
 * Makes the engine's compiler threads yield to others, all of the process that run now; returns how many. They come and
 * go with the work there is, so this is to be called again from time to time.
 */
export function lowerCompilerThreads(nice: number): number {
  if (process.platform !== 'linux') return 0;
  let lowered = 0;
  for (const thread of threads())
    if (threadName(thread) === COMPILER_THREAD && setThreadPriority(Number(thread), nice)) lowered++;
  return lowered;
}

/** None where there are no descriptors to read the list with. */
function threads(): readonly string[] {
  try {
    return readdirSync('/proc/self/task');
  } catch {
    return [];
  }
}

/** Empty where the thread has ended meanwhile, or there are no descriptors. */
function threadName(thread: string): string {
  try {
    return readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
