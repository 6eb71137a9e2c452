/** How often a thread that waits says that it would answer, in milliseconds. */
const BEAT_MS = 100;

/** The counter of one thread in memory that others read: how often it got on, and how long it once did not. */
export interface ProgressCounter {
  add(): void;
  /** Milliseconds between two beats beyond what was planned. */
  noteStall(ms: number): void;
}

/** Of this thread; null where nothing watches it. */
let counter: ProgressCounter | null = null;

/**
 * Says that this thread gets on. Long work calls it between its steps, so that the watchdog can tell a busy thread from
 * one that hangs. Costs some nanoseconds.
 */
export function noteProgress(): void {
  counter?.add();
}

/** From now on the progress of this thread is counted: by `noteProgress`, and as long as its timers fire. */
export function countProgress(shared: ProgressCounter): void {
  counter = shared;
  let last = performance.now();
  const beat = () => {
    const now = performance.now();
    shared.noteStall(now - last - BEAT_MS);
    last = now;
    shared.add();
  };
  setInterval(beat, BEAT_MS).unref();
  shared.add();
}
