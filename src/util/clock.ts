/** Where time comes from; an argument of everything whose result depends on it. */
export interface Clock {
  /** Unix time in milliseconds; may jump when the host's clock is set. */
  nowMs(): number;
  /** Milliseconds since some fixed moment; never goes back. For durations and deadlines. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Unix time in whole seconds. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.nowMs() / 1000);
}

/** Stands still until it is told otherwise. */
export class ManualClock implements Clock {
  #nowMs: number;
  #monotonicMs = 0;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Lets time pass on both clocks. */
  advance(ms: number): void {
    this.#nowMs += ms;
    this.#monotonicMs += ms;
  }

  /** Sets the time of day alone, as an administrator would. */
  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }
}
