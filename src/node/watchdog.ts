import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { ServiceNotifier } from '../util/systemd.ts';
import type { ThreadView } from '../util/thread-table.ts';

/** Time limit where the service manager sets none. */
const DEFAULT_LIMIT_MS = 60_000;
/** Checks of the threads per time limit. */
const CHECKS_PER_LIMIT = 12;
/**
 * Shares of the time limit: the interval of pings, and the time without progress after which a thread is named in the
 * log.
 */
const PING_SHARE = 1 / 3;
const NAME_SHARE = 2 / 3;
/** Extension of the start or stop time-out that is requested while threads make progress. */
const EXTENSION_MS = 60_000;

export interface WatchdogDeps {
  readonly threads: () => readonly ThreadView[];
  readonly service: ServiceNotifier;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
}

interface Watched {
  name: string;
  progress: number;
  /** The time at which progress was last seen. */
  at: number;
  isNamed: boolean;
}

/**
 * Sends keep-alive pings to the service manager while every thread makes progress: its timers fire, or its long work is
 * counted. A thread that makes none is named in the log before the manager ends the process.
 */
export class Watchdog {
  readonly #deps: WatchdogDeps;
  readonly #limitMs: number;
  readonly #isArmed: boolean;
  readonly #watched = new Map<number, Watched>();
  #checkedAt: number;
  #pingedAt: number;
  #phase: 'starting' | 'running' | 'stopping' = 'starting';

  /** `isArmed`: the manager expects pings already, since the program starts again within its process. */
  constructor(deps: WatchdogDeps, { isArmed = false } = {}) {
    this.#deps = deps;
    this.#isArmed = isArmed;
    this.#limitMs = deps.service.watchdogIntervalMs ?? DEFAULT_LIMIT_MS;
    this.#checkedAt = deps.clock.monotonicMs();
    this.#pingedAt = this.#checkedAt;
  }

  /** Milliseconds between two checks. */
  get intervalMs(): number {
    return this.#limitMs / CHECKS_PER_LIMIT;
  }

  /** Starts the pings: the node has started. */
  running(): void {
    this.#phase = 'running';
    // A long start is not counted as a stall.
    const now = this.#deps.clock.monotonicMs();
    for (const thread of this.#watched.values()) thread.at = now;
    this.#ping(now);
  }

  stopping(): void {
    this.#phase = 'stopping';
  }

  /** Checks all threads. Called every `intervalMs`. */
  checkThreads(): void {
    const { clock, service } = this.#deps;
    const now = clock.monotonicMs();
    this.#forgive(now);
    const moved = this.#update(now);
    if (this.#phase === 'running') {
      const stalled = [...this.#watched.values()].filter(({ at }) => at < this.#pingedAt);
      for (const thread of this.#watched.values()) this.#nameStalled(thread, now);
      if (stalled.length === 0 && now - this.#pingedAt >= this.#limitMs * PING_SHARE) this.#ping(now);
    } else if (moved) {
      service.extendTimeout(EXTENSION_MS);
      if (this.#isArmed && this.#phase === 'starting') this.#ping(now);
    }
  }

  /** Returns, for each thread, the seconds since its last progress and its longest timer delay. */
  figures(): { readonly name: string; readonly idle: number; readonly longestStall: number }[] {
    const now = this.#deps.clock.monotonicMs();
    return this.#deps.threads().map(({ slot, name, progress, longestStallMs }) => {
      const known = this.#watched.get(slot);
      const idle = known && known.progress === progress ? now - known.at : 0;
      return { name, idle: idle / 1000, longestStall: longestStallMs / 1000 };
    });
  }

  /**
   * A delay of this thread's own timer suggests that the whole machine stood still, so it is not counted as a stall of
   * others.
   */
  #forgive(now: number): void {
    const late = now - this.#checkedAt - this.intervalMs;
    this.#checkedAt = now;
    if (late > this.intervalMs) for (const thread of this.#watched.values()) thread.at += late;
  }

  /** Whether any thread has made progress since the last check. */
  #update(now: number): boolean {
    let moved = false;
    const slots = new Set<number>();
    for (const { slot, name, progress } of this.#deps.threads()) {
      slots.add(slot);
      const known = this.#watched.get(slot);
      if (known?.progress === progress) continue;
      moved ||= known !== undefined;
      if (known?.isNamed) this.#deps.log.warn('a thread makes progress again', { thread: name });
      this.#watched.set(slot, { name, progress, at: now, isNamed: false });
    }
    for (const slot of this.#watched.keys()) if (!slots.has(slot)) this.#watched.delete(slot);
    return moved;
  }

  #nameStalled(thread: Watched, now: number): void {
    const idleMs = now - thread.at;
    if (thread.isNamed || idleMs < this.#limitMs * NAME_SHARE) return;
    thread.isNamed = true;
    this.#deps.log.error('a thread makes no progress: keep-alive pings to the service manager stop', {
      thread: thread.name,
      seconds: Math.round(idleMs / 1000),
    });
  }

  #ping(now: number): void {
    this.#pingedAt = now;
    this.#deps.service.watchdog();
  }
}
