/** Source of time; a parameter of everything whose result depends on the time. */
export interface Clock {
  /** Unix time in milliseconds; may jump when the host's clock is set. */
  nowMs(): number;
  /** Milliseconds since some fixed moment; never decreases. For durations and deadlines. */
  monotonicMs(): number;
}

/** The host's clock, never the mock time: for logs, credentials and limits. */
export const hostClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

let mockTimeMs: number | null = null;

/** The node's clock: the host's, unless mock time is set. */
export const systemClock: Clock = {
  nowMs: () => mockTimeMs ?? Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * As `systemClock`, but its monotonic clock is that of the mock time while one is set, so that tests move the timers of
 * the peer protocol, as in Core. It never decreases without mock time.
 */
export const protocolClock: Clock = {
  nowMs: systemClock.nowMs,
  monotonicMs: () => mockTimeMs ?? performance.timeOrigin + performance.now(),
};

/** Returns whether this thread has a mock time. */
export function isTimeMocked(): boolean {
  return mockTimeMs !== null;
}

/**
 * Sets the mock time of `systemClock` and `protocolClock` in this thread, Unix seconds; 0 returns to the host's clock. For
 * tests on regtest (Core's setmocktime). The monotonic clock of `systemClock` goes on.
 */
export function setMockTime(seconds: number): void {
  mockTimeMs = seconds === 0 ? null : seconds * 1000;
}

/**
 * Returns a moment of this thread, milliseconds of `performance.now`, as a time with one origin for all threads: that of
 * `performance.now` is the start of its thread. A change of the host's clock between the starts of two threads remains as
 * an offset.
 */
export function acrossThreadsMs(threadMs: number = performance.now()): number {
  return THREAD_ORIGIN_MS + threadMs;
}

const THREAD_ORIGIN_MS = performance.timeOrigin;

/** A moment on both clocks, milliseconds. */
export interface Moment {
  readonly nowMs: number;
  readonly monotonicMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
}

/**
 * Returns the longer one of the two times since a moment, milliseconds: the monotonic clock stands still while the host
 * sleeps, and the other one may be set back.
 */
export function msSince(moment: Moment, clock: Clock): number {
  return Math.max(clock.monotonicMs() - moment.monotonicMs, clock.nowMs() - moment.nowMs);
}

/** Returns the Unix time in whole seconds. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.nowMs() / 1000);
}
