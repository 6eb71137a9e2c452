import { RateTable } from '../auth/limits.ts';
import type { Owner } from '../http/owner.ts';
import type { Clock } from '../util/clock.ts';

/** Refusals of one owner that are sent at once. */
const PROMPT = { perSecond: 10, burst: 40 } as const;
/** As long as the shortest Retry-After. */
const HOLD_MS = 1000;
const MAX_HELD = 1024;

/** What becomes of a refusal: it is sent at once, when the promise resolves, or with the end of its connection. */
export type Pace = 'at once' | 'and close' | Promise<void>;

/**
 * Holds refusals of clients that repeat a refused request without a pause, so that refusing them costs the front little.
 */
export class RefusalPace {
  readonly #prompt: RateTable;
  readonly #held = new Set<() => void>();
  #stopped = false;

  constructor(clock: Clock) {
    this.#prompt = new RateTable(PROMPT, clock);
  }

  /** To be called once for each refusal. */
  next(owner: Owner): Pace {
    if (this.#stopped || this.#prompt.bucket(owner).take(1)) return 'at once';
    if (this.#held.size >= MAX_HELD) return 'and close';
    return new Promise((resolve) => {
      const send = () => {
        clearTimeout(timer);
        this.#held.delete(send);
        resolve();
      };
      const timer = setTimeout(send, HOLD_MS);
      this.#held.add(send);
    });
  }

  /** Sends what is held; from now on nothing is. */
  stop(): void {
    this.#stopped = true;
    for (const send of this.#held) send();
  }
}
