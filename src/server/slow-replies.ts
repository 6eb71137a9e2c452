import type { Visit } from './visit.ts';

/** Longest time until the idle timeout of a connection is switched off, milliseconds. */
const SLOW_MS = 1000;
/** Shorter idle timeouts, in seconds, are switched off at once: the runtime ends them up to four seconds early. */
const SHORT_TIMEOUT = 10;

type Waiting = Pick<Visit, 'request' | 'server'>;

/**
 * Connections whose reply takes long. The runtime closes a connection that is idle while its reply is prepared, so their
 * idle timeout is off until then. Most replies come before it has to be changed, which would take longer than they do.
 */
export class SlowReplies {
  readonly #idleTimeout: number;
  readonly #slowMs: number;
  /** Replies that are being prepared. */
  readonly #waiting = new Set<Waiting>();
  /** Replies whose connections have no idle timeout meanwhile. */
  readonly #slow = new Set<Waiting>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** `idleTimeout` in seconds. */
  constructor(idleTimeout: number, slowMs = SLOW_MS) {
    this.#idleTimeout = idleTimeout;
    this.#slowMs = idleTimeout < SHORT_TIMEOUT ? 0 : slowMs;
  }

  /** Call it when the preparation of a reply begins. */
  begin(visit: Waiting): void {
    if (this.#slowMs === 0) {
      this.#keepOpen(visit);
      return;
    }
    this.#waiting.add(visit);
    if (this.#timer === null) this.#startTimer();
  }

  /** Call it when a reply is ready, whether `begin` was called or not. */
  end(visit: Waiting): void {
    this.#waiting.delete(visit);
    if (this.#slow.size > 0 && this.#slow.delete(visit)) visit.server.timeout?.(visit.request, this.#idleTimeout);
  }

  #startTimer(): void {
    this.#timer = setTimeout(() => this.#keepAllOpen(), this.#slowMs);
    this.#timer.unref();
  }

  #keepAllOpen(): void {
    this.#timer = null;
    for (const visit of this.#waiting) this.#keepOpen(visit);
    this.#waiting.clear();
  }

  #keepOpen(visit: Waiting): void {
    this.#slow.add(visit);
    visit.server.timeout?.(visit.request, 0);
  }
}
