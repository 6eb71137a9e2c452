/** Interval at which the timer of an idle thread counts progress, milliseconds. */
const BEAT_MS = 100;

/** Progress counter of one thread, in memory that other threads read. */
export interface ProgressCounter {
  add(): void;
  /** Records by how many milliseconds a beat was late. */
  noteStall(ms: number): void;
}

/** Counter of this thread; null if the watchdog does not watch it. */
let counter: ProgressCounter | null = null;

/**
 * Counts progress of this thread. Long work calls it between its steps, so that the watchdog distinguishes a busy
 * thread from one that hangs. Costs some nanoseconds.
 */
export function noteProgress(): void {
  counter?.add();
}

/** Starts counting progress of this thread: by `noteProgress`, and by a timer while the event loop runs. */
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
