import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds of each thread of a process, by its directory. Ended threads count as well. */
const THREADS = new Map<number, Map<string, number>>();

/** Returns the microseconds of processor time of all threads of a process; NaN if the system does not report it. */
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

/** Returns null for a thread that has ended. */
function nanosecondsOf(file: string): number | null {
  try {
    return Number(readFileSync(file, 'latin1').split(' ', 1)[0]);
  } catch {
    return null;
  }
}

const SERVER_CORE = '0';
const CLIENT_CORE = '1';

/** Returns the command that starts a server in its own session, where no other nice value counts, and on one core. */
export function serverPrefix(): string[] {
  return [...(Bun.which('setsid') ? ['setsid'] : []), ...(Bun.which('taskset') ? ['taskset', '-c', SERVER_CORE] : [])];
}

/** Moves this process to another core than the servers'. */
export function pinClient(): void {
  if (Bun.which('taskset')) Bun.spawnSync(['taskset', '-apc', CLIENT_CORE, String(process.pid)]);
}
