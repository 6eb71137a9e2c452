import { getPriority } from 'node:os';
import { openLibc } from './libc.ts';

/** Numbers of the system call sched_setattr, for which the C libraries have no function. */
const SCHED_SETATTR: Partial<Record<NodeJS.Architecture, number>> = { x64: 314, arm64: 274 };
/** Size of the first version of `struct sched_attr`, and the offsets of its members. */
const ATTR_BYTES = 48;
const ATTR_FLAGS = 8;
const ATTR_NICE = 16;
const ATTR_RUNTIME = 24;
const RESET_ON_FORK = 1n;
const SCHED_OTHER = 0;
/** The shortest time slice that the kernel allows. */
const SHORTEST_NS = 100_000n;

/**
 * Gives the calling thread the shortest time slice. A thread that wakes runs before those whose slices end later, so one
 * that answers requests waits less for the threads of background work, and gets no more processor time than before.
 * Threads that it starts have slices of the usual length. Returns false if that is not possible, which affects latency
 * alone; kernels before Linux 6.12 ignore the length.
 */
export function shortenTimeSlice(): boolean {
  const call = SCHED_SETATTR[process.arch];
  if (process.platform !== 'linux' || call === undefined) return false;
  const nice = getPriority();
  // The kernel would reset a negative nice value in the threads that this one starts.
  if (nice < 0) return false;
  const libc = openLibc({
    sched_getscheduler: { args: ['i32'], returns: 'i32' },
    syscall: { args: ['i64', 'i32', 'ptr', 'u32'], returns: 'i64' },
  });
  // An operator may have chosen another policy for the program.
  if (libc === null || libc.sched_getscheduler(0) !== SCHED_OTHER) return false;
  const attr = new DataView(new ArrayBuffer(ATTR_BYTES));
  attr.setUint32(0, ATTR_BYTES, true);
  attr.setBigUint64(ATTR_FLAGS, RESET_ON_FORK, true);
  attr.setInt32(ATTR_NICE, nice, true);
  attr.setBigUint64(ATTR_RUNTIME, SHORTEST_NS, true);
  return Number(libc.syscall(call, 0, new Uint8Array(attr.buffer), 0)) === 0;
}
