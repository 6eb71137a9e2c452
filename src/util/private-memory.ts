import { openLibc } from './libc.ts';

const PR_SET_DUMPABLE = 4;
const RLIMIT_CORE = 4;

/**
 * Keeps the memory of the process, with its keys, out of core dumps and from other processes of the same user
 * (PR_SET_DUMPABLE). Returns false if the system does not support that. Root can still read the memory, and so can the
 * process its own /proc entries.
 */
export function keepMemoryPrivate(): boolean {
  const libc = openLibc({
    prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' },
    setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  });
  if (libc === null) return false;
  const none = new BigUint64Array(2);
  const undumpable = libc.prctl(PR_SET_DUMPABLE, 0n, 0n, 0n, 0n) === 0;
  // Core dumps that are piped to a collector ignore the limit, but respect PR_SET_DUMPABLE.
  return libc.setrlimit(RLIMIT_CORE, none) === 0 && undumpable;
}
