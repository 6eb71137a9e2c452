import { sleep } from '../../util/abort.ts';
import { type Clock, systemClock } from '../../util/clock.ts';

/** Time as it is told and as it passes, so that tests can do both by themselves. */
export interface Timing {
  readonly clock: Clock;
  /** Resolves after `ms`; rejects with the signal's reason when that aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export const systemTiming: Timing = { clock: systemClock, sleep };

/** The promise, or a rejection with `error()` when it takes longer; what the promise was doing goes on. */
export async function within<T>(timing: Timing, ms: number, promise: Promise<T>, error: () => Error): Promise<T> {
  const done = new AbortController();
  const late = timing.sleep(ms, done.signal).then(
    () => Promise.reject(error()),
    // Ended because the promise was faster.
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    done.abort();
  }
}
