/** Where time comes from; an argument of everything whose result depends on it. */
export interface Clock {
  /** Unix time in milliseconds; may jump when the host's clock is set. */
  nowMs(): number;
  /** Milliseconds since some fixed moment; never goes back. For durations and deadlines. */
  monotonicMs(): number;
}

/** The host's clock, whatever the node takes for the time: for logs, credentials and limits. */
export const hostClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

let mockTimeMs: number | null = null;

/** What the node takes for the time: the host's, but where a tester has stopped it. */
export const systemClock: Clock = {
  nowMs: () => mockTimeMs ?? Date.now(),
  monotonicMs: () => performance.now(),
};

/**
 * Stops `systemClock` of this thread at a time of day, in Unix seconds; 0 lets it go again. For regtest, where what
 * depends on time is to be tested without waiting. Durations and deadlines go on.
 */
export function setMockTime(seconds: number): void {
  mockTimeMs = seconds === 0 ? null : seconds * 1000;
}

/** Unix time in whole seconds. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.nowMs() / 1000);
}
