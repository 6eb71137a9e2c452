import { lowerThreadPriority } from './nice.ts';
import { serving } from './worker.ts';

/**
 * Records for all threads of the process that clients are served, or that the initial sync is over. Background threads
 * yield to replies from then on. A nice value cannot be lowered again without privileges, so this is for good.
 */
export function beginServing(): void {
  // Each request calls this, and a store would take the memory from the other threads each time.
  if (!isServing()) Atomics.store(serving, 0, 1);
}

/** Whether replies come before background work. No client may wait for any during an import and the initial sync. */
export function isServing(): boolean {
  return Atomics.load(serving, 0) === 1;
}

let lowered = false;

/**
 * Lowers the priority of the calling thread to a nice value once clients are served, and not before: beside other busy
 * processes a thread of low priority gets hardly any processor time. Threads call it between two pieces of work.
 */
export function yieldToReplies(nice: number): void {
  if (lowered || !isServing()) return;
  lowered = true;
  lowerThreadPriority(nice);
}
