import { readdirSync, readFileSync } from 'node:fs';
import { openLibc } from './libc.ts';

const PRIO_PROCESS = 0;
/** Thread name of the engine's JIT compiler threads. */
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
 * Sets the nice value of the calling thread (0 to 19, 19 the lowest priority). Returns false if that is not possible,
 * which affects latency alone.
 */
export function lowerThreadPriority(nice: number): boolean {
  // On Linux a nice value belongs to a thread, and id 0 is the calling one.
  return setThreadPriority(0, nice);
}

/**
 * Sets the nice value of the engine's compiler threads that run now, and returns their number. The engine starts and
 * ends them as needed, so this must be called repeatedly.
 */
export function lowerCompilerThreads(nice: number): number {
  if (process.platform !== 'linux') return 0;
  let lowered = 0;
  for (const thread of threads())
    if (threadName(thread) === COMPILER_THREAD && setThreadPriority(Number(thread), nice)) lowered++;
  return lowered;
}

/** Returns the thread ids of the process; none if no descriptor is free. */
function threads(): readonly string[] {
  try {
    return readdirSync('/proc/self/task');
  } catch {
    return [];
  }
}

/** Returns the name of a thread; empty if it has ended or no descriptor is free. */
function threadName(thread: string): string {
  try {
    return readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
