import { sleep } from '../../util/abort.ts';
import { type Clock, protocolClock } from '../../util/clock.ts';

/** Clock and timers, replaceable in tests. */
export interface Timing {
  readonly clock: Clock;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts. */
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export const systemTiming: Timing = { clock: protocolClock, sleep };

/**
 * Returns the promise with a time limit, after which it rejects with `error()`. The operation itself is not cancelled.
 */
export async function within<T>(timing: Timing, ms: number, promise: Promise<T>, error: () => Error): Promise<T> {
  const done = new AbortController();
  const late = timing.sleep(ms, done.signal).then(
    () => Promise.reject(error()),
    // The promise settled first.
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    done.abort();
  }
}
