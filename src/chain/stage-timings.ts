import type { Clock } from '../util/clock.ts';
import { DurationCounts, type DurationTotals } from '../util/duration-counts.ts';

/** Time spent in each stage of block processing since the start. */
export interface ChainTimings<T> {
  readonly parse: T;
  /** Checks that need no coins: header, body, merkle roots. */
  readonly check: T;
  /** Spending and creating coins, staging rows, enqueuing script checks. */
  readonly connect: T;
  /** Waiting for the verify workers. */
  readonly wait: T;
  readonly commit: T;
}

/** Durations of each stage; a block may pass through a stage more than once. The committer measures commits itself. */
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

  /** Measures a wait that ends; one that rejects is not counted. */
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
