import type { Log } from '../util/log.ts';

const FIRST_MS = 10 * 60_000;
const LONGEST_MS = 24 * 3600_000;

/** Warns where the node has had no peer for ten minutes, then at growing intervals. */
export class PeerlessWatch {
  readonly #log: Log;
  #since: number | null = null;
  #warnAfterMs = FIRST_MS;

  constructor(log: Log) {
    this.#log = log;
  }

  /** `peers`: number of peers, null where the node looks for none; `nowMs`: monotonic time. Called periodically. */
  check(peers: number | null, nowMs: number): void {
    if (peers !== 0) {
      if (peers !== null && this.#warnAfterMs > FIRST_MS) this.#log.info('peer found');
      this.#since = null;
      this.#warnAfterMs = FIRST_MS;
      return;
    }
    this.#since ??= nowMs;
    const passed = nowMs - this.#since;
    if (passed < this.#warnAfterMs) return;
    this.#warnAfterMs = passed + Math.min(passed, LONGEST_MS);
    this.#log.warn('no peer found', {
      minutes: Math.floor(passed / 60_000),
      hint: 'check the network connection and outbound firewall rules, or set p2p.connect or p2p.proxy',
    });
  }
}
