import type { Log } from '../util/log.ts';

/** Core's threshold of the time offset, in seconds. */
const WARN_ABOVE_S = 10 * 60;
const WARNING =
  'The clock of this machine is more than 10 minutes off those of the peers. Please check date and time: with a wrong ' +
  'clock valid blocks may be rejected.';

/** Logs a warning while the clock differs from the clocks of the peers. */
export class ClockWatch {
  readonly #log: Log;
  #isOff = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** `offset`: seconds that the peers are ahead of this clock; negative when they are behind. */
  check(offset: number): void {
    const isOff = Math.abs(offset) > WARN_ABOVE_S;
    if (isOff && !this.#isOff) this.#log.warn(WARNING, { offset });
    this.#isOff = isOff;
  }

  get warnings(): readonly string[] {
    return this.#isOff ? [WARNING] : [];
  }
}
