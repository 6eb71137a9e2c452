import type { Clock } from '../../src/util/clock.ts';

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
