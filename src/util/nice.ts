import { openLibc } from './libc.ts';

const PRIO_PROCESS = 0;

/**
 * Makes the calling thread yield to others: its nice value becomes `nice` (0 to 19, 19 the most yielding).
 * False where that is not possible; nothing depends on it but latency.
 */
export function lowerThreadPriority(nice: number): boolean {
  const libc = openLibc({ setpriority: { args: ['i32', 'u32', 'i32'], returns: 'i32' } });
  if (!libc) return false;
  // On Linux a nice value belongs to a thread, and id 0 is the calling one.
  return libc.setpriority(PRIO_PROCESS, 0, nice) === 0;
}
