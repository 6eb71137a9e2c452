import type { Clock } from '../util/clock.ts';

/** Interval between two checks of memory, milliseconds. */
const CHECK_INTERVAL_MS = 50;
/** Growth since the last collection that triggers the next one: the larger of these bytes and this share of memory. */
const GROWTH_BYTES = 20_000_000;
const GROWTH_SHARE = 1 / 16;
/** Upper bound of the share of time spent in collections. */
const MAX_TIME_SHARE = 1 / 4;
/** Growth, as a multiple of the trigger, at which MAX_TIME_SHARE is ignored. */
const URGENT_GROWTH = 1.5;
/** Delays of two further collections, in which objects that were alive at the first one may be garbage. */
const FOLLOW_UP_MS = [1000, 5000];
/** During initial block download throughput matters more: only this growth triggers a collection, without further ones. */
const SYNC_GROWTH_BYTES = 128_000_000;

export interface GarbageDeps {
  /** Resident memory of the process in bytes; null where the system does not report it. */
  readonly used: () => number | null;
  readonly collect: () => void;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Least growth that triggers a collection, bytes. */
  readonly growthBytes?: number;
  /** Delays of further collections after one that growth triggered, milliseconds. */
  readonly followUpMs?: readonly number[];
}

const SYSTEM: Omit<GarbageDeps, 'clock'> = {
  used: residentBytes,
  collect: () => Bun.gc(true),
};

/**
 * Collects garbage early. By itself the engine waits until its heap has doubled, which is fast, but lets a flood of
 * small messages take hundreds of megabytes and keep them. Each collection stops the thread while it traverses all live
 * objects: 30 to 60 ms for a small heap, and some 400 ms with as many headers as the main chain has.
 */
export class GarbageCollector {
  readonly #deps: Required<GarbageDeps>;
  #base: number;
  /** The earliest time of the next collection. */
  #next = 0;
  /** Times of collections that do not depend on growth. */
  #planned: number[] = [];

  constructor(deps: GarbageDeps) {
    this.#deps = { growthBytes: GROWTH_BYTES, followUpMs: FOLLOW_UP_MS, ...deps };
    this.#base = deps.used() ?? Number.POSITIVE_INFINITY;
  }

  /** Checks memory periodically while `wanted()`, for the life of the thread. */
  static startPeriodicChecks(clock: Pick<Clock, 'monotonicMs'>, wanted: () => boolean): void {
    const garbage = new GarbageCollector({ ...SYSTEM, clock });
    setInterval(() => {
      if (wanted()) garbage.collectIfGrown();
    }, CHECK_INTERVAL_MS).unref();
  }

  /** Returns a collector for the commits of initial block download. */
  static forInitialSync(clock: Pick<Clock, 'monotonicMs'>): GarbageCollector {
    return new GarbageCollector({ ...SYSTEM, clock, growthBytes: SYNC_GROWTH_BYTES, followUpMs: [] });
  }

  /** Collects garbage where memory has grown enough. */
  collectIfGrown(): void {
    const { used, collect, clock, growthBytes, followUpMs } = this.#deps;
    const from = clock.monotonicMs();
    const before = used();
    if (before === null) return;
    // Memory that was returned to the system may be allocated again without a collection.
    this.#base = Math.min(this.#base, before);
    const growth = (before - this.#base) / (growthBytes + this.#base * GROWTH_SHARE);
    // At this growth memory takes precedence over responsiveness.
    if (growth < URGENT_GROWTH && from < this.#next) return;
    const grown = growth >= 1;
    if (!grown && from < (this.#planned[0] ?? Number.POSITIVE_INFINITY)) return;
    collect();
    this.#base = used() ?? before;
    const to = clock.monotonicMs();
    this.#next = to + (to - from) / MAX_TIME_SHARE;
    this.#planned = grown ? followUpMs.map((ms) => to + ms) : this.#planned.slice(1);
  }
}

/** Linux reports the value in a file, which cannot be opened when the process has no descriptor left. */
function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}
