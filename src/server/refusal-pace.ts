import { RateTable } from '../auth/rate-limits.ts';
import type { Owner } from '../http/owner.ts';
import type { Clock } from '../util/clock.ts';

/** Refusals of one principal that are sent at once. */
const PROMPT = { perSecond: 10, burst: 40 } as const;
/** Delay of a held refusal, milliseconds; equal to the shortest Retry-After. */
const HOLD_MS = 1000;
const MAX_HELD = 1024;

/** How a refusal is sent: at once, when the promise resolves, or with the close of its connection. */
export type Pace = 'at once' | 'and close' | Promise<void>;

/**
 * Delays refusals of clients that repeat a refused request without a pause, so that they cost the main thread little.
 */
export class RefusalPace {
  readonly #prompt: RateTable;
  readonly #held = new Set<() => void>();
  #stopped = false;

  constructor(clock: Clock) {
    this.#prompt = new RateTable(PROMPT, clock);
  }

  /** Returns the pace of one refusal. Call it once for each. */
  next(owner: Owner): Pace {
    if (this.#stopped || this.#prompt.bucket(owner).consume(1)) return 'at once';
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

  /** Sends all held refusals, and holds none afterwards. */
  stop(): void {
    this.#stopped = true;
    for (const send of this.#held) send();
  }
}
