import { type Clock, unixSeconds } from '../util/clock.ts';

/** Limit of one timer, milliseconds; the runtime's is 24 days. */
const MAX_TIMER_MS = 1_000_000_000;

/** Locks a wallet again after the time for which it was unlocked. */
export class UnlockTimer {
  readonly #clock: Clock;
  readonly #lock: () => void;
  #until = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(clock: Clock, lock: () => void) {
    this.#clock = clock;
    this.#lock = lock;
  }

  /** End of the unlocked time, Unix seconds; 0 while the wallet is locked. */
  get until(): number {
    return this.#until;
  }

  /** Replaces the remaining time by a number of seconds. */
  start(seconds: number): void {
    this.stop();
    this.#until = unixSeconds(this.#clock) + seconds;
    this.#lockIn(seconds * 1000);
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    this.#until = 0;
  }

  #lockIn(ms: number): void {
    const step = Math.min(ms, MAX_TIMER_MS);
    this.#timer = setTimeout(() => (ms > step ? this.#lockIn(ms - step) : this.#lock()), step);
    this.#timer.unref();
  }
}
