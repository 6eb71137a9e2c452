import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY_GROUPS = '/sys/fs/cgroup/memory';
const POLL_MS = 100;

/** The cost of a process and its children. */
export interface ProcessCost {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Largest resident memory, bytes. */
  readonly peak: number;
  /** Bytes that reached the disk, or came from it. */
  readonly written: number;
  readonly read: number;
}

/**
 * Runs a command to its end, in a session of its own. `limitGiB` bounds its memory, page cache included; that needs root
 * and control groups of version 1. Throws if the command fails.
 */
export async function measureProcess(command: readonly string[], limitGiB: number | null): Promise<ProcessCost> {
  const group = limitGiB === null ? null : limitedGroup(limitGiB);
  try {
    // The shell enters the group before it becomes the process, so that all of its memory is counted.
    const enter = group === null ? 'exec "$@"' : `echo $$ > ${group}/cgroup.procs && exec "$@"`;
    const started = performance.now();
    const child = Bun.spawn(['setsid', '--wait', 'sh', '-c', enter, 'sh', ...command], {
      stdout: 'ignore',
      stderr: 'pipe',
    });
    const use = watchUse(child.pid);
    const stderr = await new Response(child.stderr).text();
    const status = await child.exited;
    const seconds = (performance.now() - started) / 1000;
    if (status !== 0) throw new Error(`${command[0]} failed:\n${stderr}`);
    return { seconds, cpuSeconds: Number(child.resourceUsage()!.cpuTime.total) / 1e6, ...use() };
  } finally {
    if (group !== null) rmdirSync(group);
  }
}

function limitedGroup(gibibytes: number): string {
  if (!existsSync(join(MEMORY_GROUPS, 'memory.limit_in_bytes')))
    throw new Error(`${MEMORY_GROUPS} is missing: run without --memory`);
  const group = join(MEMORY_GROUPS, `obverse-size-${process.pid}`);
  mkdirSync(group);
  writeFileSync(join(group, 'memory.limit_in_bytes'), String(gibibytes * 1024 ** 3));
  return group;
}

/** Returns a function for the peak of resident memory and the bytes written and read by a process and its children. */
function watchUse(pid: number): () => { peak: number; written: number; read: number } {
  const use = { peak: 0, written: 0, read: 0 };
  const look = () => {
    for (const id of [pid, ...childrenOf(pid)])
      try {
        const number = (text: string, name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1] ?? 0);
        const io = readFileSync(`/proc/${id}/io`, 'utf8');
        use.peak = Math.max(use.peak, number(readFileSync(`/proc/${id}/status`, 'utf8'), 'VmHWM') * 1024);
        use.written = Math.max(use.written, number(io, '\nwrite_bytes'));
        use.read = Math.max(use.read, number(io, '\nread_bytes'));
      } catch {
        // The process has ended.
      }
  };
  const timer = setInterval(look, POLL_MS);
  return () => {
    clearInterval(timer);
    return use;
  };
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ').map(Number);
  } catch {
    return [];
  }
}
