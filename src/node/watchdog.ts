import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { ServiceNotifier } from '../util/systemd.ts';
import type { ThreadView } from '../util/thread-table.ts';

/** Where no service manager says how long it waits. */
const DEFAULT_LIMIT_MS = 60_000;
/** Looks at the threads within the time that the manager waits. */
const LOOKS = 12;
/** Of that time: so often the manager is told that all is well, and so long without progress a thread is named. */
const PING_SHARE = 1 / 3;
const NAME_SHARE = 2 / 3;
/** What the manager is asked for while the node starts or stops and its threads get on. */
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
  /** When it was last seen to have got on. */
  at: number;
  isNamed: boolean;
}

/**
 * Tells the service manager that the process is alive, while every thread of it gets on: its timers fire, or its long work
 * counts. A thread that does not is named in the log before the manager ends the process.
 */
export class Watchdog {
  readonly #deps: WatchdogDeps;
  readonly #limitMs: number;
  readonly #watched = new Map<number, Watched>();
  #lookedAt: number;
  #pingedAt: number;
  #phase: 'starting' | 'running' | 'stopping' = 'starting';

  constructor(deps: WatchdogDeps) {
    this.#deps = deps;
    this.#limitMs = deps.service.watchdogIntervalMs ?? DEFAULT_LIMIT_MS;
    this.#lookedAt = deps.clock.monotonicMs();
    this.#pingedAt = this.#lookedAt;
  }

  /** Milliseconds between two looks. */
  get intervalMs(): number {
    return this.#limitMs / LOOKS;
  }

  /** The node has started: the manager counts on pings from now on. */
  running(): void {
    this.#phase = 'running';
    // What a long start kept a thread from is no fault of it.
    const now = this.#deps.clock.monotonicMs();
    for (const thread of this.#watched.values()) thread.at = now;
    this.#ping(now);
  }

  stopping(): void {
    this.#phase = 'stopping';
  }

  /** To be called every `intervalMs`. */
  look(): void {
    const { clock, service } = this.#deps;
    const now = clock.monotonicMs();
    this.#forgive(now);
    const moved = this.#update(now);
    if (this.#phase === 'running') {
      const stalled = [...this.#watched.values()].filter(({ at }) => at < this.#pingedAt);
      for (const thread of this.#watched.values()) this.#nameStalled(thread, now);
      if (stalled.length === 0 && now - this.#pingedAt >= this.#limitMs * PING_SHARE) this.#ping(now);
    } else if (moved) service.extendTimeout(EXTENSION_MS);
  }

  /** By thread: seconds since it was last seen to get on, and the longest that its timers were late. */
  figures(): { readonly name: string; readonly idle: number; readonly longestStall: number }[] {
    const now = this.#deps.clock.monotonicMs();
    return this.#deps.threads().map(({ slot, name, progress, longestStallMs }) => {
      const known = this.#watched.get(slot);
      const idle = known && known.progress === progress ? now - known.at : 0;
      return { name, idle: idle / 1000, longestStall: longestStallMs / 1000 };
    });
  }

  /** Where this thread itself was kept from looking, the others may have been as well: the machine stood still. */
  #forgive(now: number): void {
    const late = now - this.#lookedAt - this.intervalMs;
    this.#lookedAt = now;
    if (late > this.intervalMs) for (const thread of this.#watched.values()) thread.at += late;
  }

  /** Whether any thread has got on since the last look. */
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
    this.#deps.log.error('a thread makes no progress: the service manager is no longer told that the node is alive', {
      thread: thread.name,
      seconds: Math.round(idleMs / 1000),
    });
  }

  #ping(now: number): void {
    this.#pingedAt = now;
    this.#deps.service.watchdog();
  }
}
