import type { Clock } from '../util/clock.ts';
import { DurationCounts, type DurationTotals } from '../util/duration-counts.ts';

/** Time spent in each stage of taking blocks, since the start. */
export interface ChainTimings<T> {
  readonly parse: T;
  /** Checks without coins: header, body, merkle roots. */
  readonly check: T;
  /** Coins spent and made, rows gathered, script checks handed out. */
  readonly connect: T;
  /** Waiting for verdicts of the verify workers. */
  readonly wait: T;
  readonly commit: T;
}

/** How long each stage took; a block may pass some more than once. The commits keep account of their own. */
export class StageTimings {
  readonly #clock: Clock;
  readonly #durations = {
    parse: new DurationCounts(),
    check: new DurationCounts(),
    connect: new DurationCounts(),
    wait: new DurationCounts(),
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  timed<T>(stage: 'parse' | 'check' | 'connect', run: () => T): T {
    const startedAt = this.#clock.monotonicMs();
    try {
      return run();
    } finally {
      this.#observe(stage, startedAt);
    }
  }

  /** Counts the wait when it is over, unless it is given up. */
  async waited(done: Promise<void>): Promise<void> {
    const startedAt = this.#clock.monotonicMs();
    await done;
    this.#observe('wait', startedAt);
  }

  totals(commit: DurationTotals): ChainTimings<DurationTotals> {
    const { parse, check, connect, wait } = this.#durations;
    return { parse: parse.totals(), check: check.totals(), connect: connect.totals(), wait: wait.totals(), commit };
  }

  #observe(stage: 'parse' | 'check' | 'connect' | 'wait', startedAt: number): void {
    this.#durations[stage].observe((this.#clock.monotonicMs() - startedAt) / 1000);
  }
}
