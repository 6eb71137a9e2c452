import type { Log } from '../util/log.ts';

/** Core's threshold, in seconds. */
const WARN_ABOVE_S = 10 * 60;
const WARNING =
  'The clock of this machine is more than 10 minutes off those of the peers. Please check date and time: with a wrong ' +
  'clock valid blocks may be refused.';

/** Warns while the clock differs from that of the network. */
export class ClockWatch {
  readonly #log: Log;
  #isOff = false;

  constructor(log: Log) {
    this.#log = log;
  }

  /** By how many seconds the peers are ahead, positive or negative. */
  check(offset: number): void {
    const isOff = Math.abs(offset) > WARN_ABOVE_S;
    if (isOff && !this.#isOff) this.#log.warn(WARNING, { offset });
    this.#isOff = isOff;
  }

  get warnings(): readonly string[] {
    return this.#isOff ? [WARNING] : [];
  }
}
