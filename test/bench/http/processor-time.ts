import { readdirSync, readFileSync } from 'node:fs';

/** Microseconds of processor time that all threads of a process have used; NaN where the system does not say. */
export function processorTime(pid: number): number {
  let nanoseconds = 0;
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`))
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0]);
  } catch {
    return Number.NaN;
  }
  return nanoseconds / 1000;
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
