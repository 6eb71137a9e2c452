/** Where the watchdog looks for the progress of this thread; null where nothing watches it. */
let counter: Int32Array | null = null;

/** From now on `noteProgress` counts in the first element of `shared`, which another thread reads. */
export function countProgressIn(shared: Int32Array): void {
  counter = shared;
}

/**
 * Says that this thread gets on. Long work calls it between its steps, so that the watchdog can tell a busy thread from
 * one that hangs. Costs some nanoseconds.
 */
export function noteProgress(): void {
  if (counter) Atomics.add(counter, 0, 1);
}
