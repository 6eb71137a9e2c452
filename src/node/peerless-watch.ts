import type { Log } from '../util/log.ts';

const FIRST_MS = 10 * 60_000;
const LONGEST_MS = 24 * 3600_000;

/** Warns where no peer is found, after ten minutes, and ever more rarely while that lasts. */
export class PeerlessWatch {
  readonly #log: Log;
  #since: number | null = null;
  #warnAfterMs = FIRST_MS;

  constructor(log: Log) {
    this.#log = log;
  }

  /** To be called now and then, with the number of peers, null where none are looked for, and the monotonic time. */
  check(peers: number | null, nowMs: number): void {
    if (peers !== 0) {
      if (peers !== null && this.#warnAfterMs > FIRST_MS) this.#log.info('a peer is found');
      this.#since = null;
      this.#warnAfterMs = FIRST_MS;
      return;
    }
    this.#since ??= nowMs;
    const passed = nowMs - this.#since;
    if (passed < this.#warnAfterMs) return;
    this.#warnAfterMs = passed + Math.min(passed, LONGEST_MS);
    this.#log.warn('no peer is found', {
      minutes: Math.floor(passed / 60_000),
      hint: 'is the machine online, and may it dial out? p2p.connect names peers to dial, p2p.proxy a way to them',
    });
  }
}
