import type { Visit } from './visit.ts';

/** Longest time until the idle timeout of a connection is switched off, milliseconds. */
const SLOW_MS = 1000;
/** Shorter idle timeouts, in seconds, are switched off at once: the runtime ends them up to four seconds early. */
const SHORT_TIMEOUT = 10;

/** Interval at which the waiting replies are checked, milliseconds. */
const CHECK_MS = 20;

type Waiting = Pick<Visit, 'request' | 'server' | 'startedAt'>;

/**
 * Connections whose reply takes long. The runtime closes a connection that is idle while its reply is prepared, so their
 * idle timeout is off until then. Most replies come before it has to be changed, which would take longer than they do. The
 * replies that do not come at once are reported long before that.
 */
export class SlowReplies<T extends Waiting = Waiting> {
  readonly #idleTimeout: number;
  readonly #onWaiting: (visit: T) => void;
  readonly #slowMs: number;
  /** Replies that are being prepared. */
  readonly #waiting = new Set<T>();
  /** Replies whose connections have no idle timeout meanwhile. */
  readonly #slow = new Set<T>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** `idleTimeout` in seconds. `onWaiting` is called, once or several times, with each reply that does not come at once. */
  constructor(idleTimeout: number, onWaiting: (visit: T) => void, slowMs = SLOW_MS) {
    this.#idleTimeout = idleTimeout;
    this.#onWaiting = onWaiting;
    this.#slowMs = idleTimeout < SHORT_TIMEOUT ? 0 : slowMs;
  }

  /** Call it when the preparation of a reply begins. */
  begin(visit: T): void {
    if (this.#slowMs === 0) {
      this.#onWaiting(visit);
      this.#keepOpen(visit);
      return;
    }
    this.#waiting.add(visit);
    if (this.#timer === null) this.#startTimer();
  }

  /** Call it when a reply is ready, whether `begin` was called or not. */
  end(visit: T): void {
    this.#waiting.delete(visit);
    if (this.#slow.size > 0 && this.#slow.delete(visit)) visit.server.timeout?.(visit.request, this.#idleTimeout);
  }

  #startTimer(): void {
    this.#timer = setTimeout(() => this.#checkWaiting(), Math.min(CHECK_MS, this.#slowMs));
    this.#timer.unref();
  }

  #checkWaiting(): void {
    this.#timer = null;
    const slowSince = performance.now() - this.#slowMs;
    for (const visit of this.#waiting) {
      this.#onWaiting(visit);
      if (visit.startedAt > slowSince) continue;
      this.#waiting.delete(visit);
      this.#keepOpen(visit);
    }
    if (this.#waiting.size > 0) this.#startTimer();
  }

  #keepOpen(visit: T): void {
    this.#slow.add(visit);
    visit.server.timeout?.(visit.request, 0);
  }
}
