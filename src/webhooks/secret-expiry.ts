import { type Clock, unixSeconds } from '../util/clock.ts';

/** Longest time of a timer, milliseconds; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The times until which previous secrets sign. It calls `onOver` when one of them is over. */
export class SecretExpiry {
  readonly #clock: Clock;
  readonly #onOver: () => void;
  readonly #until = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(clock: Clock, onOver: () => void) {
    this.#clock = clock;
    this.#onOver = onOver;
  }

  /** Returns the time of a hook, Unix seconds; null without a previous secret that signs. */
  untilOf(id: string): number | null {
    const until = this.#until.get(id);
    return until !== undefined && unixSeconds(this.#clock) < until ? until : null;
  }

  setUntil(id: string, until: number): void {
    this.#until.set(id, until);
    this.#schedule();
  }

  remove(id: string): void {
    this.#until.delete(id);
  }

  close(): void {
    this.#until.clear();
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#until.size === 0) return;
    const ms = Math.min(...this.#until.values()) * 1000 - this.#clock.nowMs();
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, Math.min(ms, MAX_TIMER_MS)));
    this.#timer.unref();
  }

  #expire(): void {
    const over = [...this.#until.keys()].filter((id) => this.untilOf(id) === null);
    for (const id of over) this.#until.delete(id);
    if (over.length > 0) this.#onOver();
    this.#schedule();
  }
}
