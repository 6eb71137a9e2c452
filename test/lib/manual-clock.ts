import type { Clock } from '../../src/util/clock.ts';

/** A clock that stands still until a test advances it. */
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
