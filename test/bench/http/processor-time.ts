import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds of every thread that a process had, by its directory: threads that have ended count as well. */
const THREADS = new Map<number, Map<string, number>>();

/** Microseconds of processor time that all threads of a process have used; NaN where the system does not say. */
export function processorTime(pid: number): number {
  const threads = THREADS.get(pid) ?? new Map<string, number>();
  THREADS.set(pid, threads);
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`))
      threads.set(thread, nanosecondsOf(`/proc/${pid}/task/${thread}/schedstat`) ?? threads.get(thread) ?? 0);
  } catch {
    return Number.NaN;
  }
  return [...threads.values()].reduce((sum, each) => sum + each, 0) / 1000;
}

/** null for a thread that has ended. */
function nanosecondsOf(file: string): number | null {
  try {
    return Number(readFileSync(file, 'latin1').split(' ', 1)[0]);
  } catch {
    return null;
  }
}

const SERVER_CORE = '0';
const CLIENT_CORE = '1';

/** Words before the command of a server: a session of its own, so that no other nice value counts, and one core. */
export function serverPrefix(): string[] {
  return [...(Bun.which('setsid') ? ['setsid'] : []), ...(Bun.which('taskset') ? ['taskset', '-c', SERVER_CORE] : [])];
}

/** Keeps this process off the core of the servers. */
export function pinClient(): void {
  if (Bun.which('taskset')) Bun.spawnSync(['taskset', '-apc', CLIENT_CORE, String(process.pid)]);
}
