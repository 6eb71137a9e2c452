import type { Clock } from '../util/clock.ts';

/** How often it is looked, in milliseconds. */
const LOOK_MS = 50;
/** Growth since the last collection that makes the next one due: so many bytes, and more where much is in use. */
const GROWTH = 20_000_000;
const GROWTH_SHARE = 1 / 16;
/** Of the time, so much goes to collections at most, */
const SHARE_OF_TIME = 1 / 4;
/** unless memory has grown by this much of what makes one due. */
const URGENT = 1.5;
/** So long after a collection there is another: what was in use at the first may be garbage by then. */
const AFTERWARDS_MS = [1000, 5000];

export interface GarbageDeps {
  /** Bytes of memory that the process has; null where the system does not say. */
  readonly used: () => number | null;
  readonly collect: () => void;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

const SYSTEM: Omit<GarbageDeps, 'clock'> = {
  used: residentBytes,
  collect: () => Bun.gc(true),
};

/**
 * Collects garbage as soon as much of it may have gathered. The engine itself waits until its heap has doubled, which is
 * good for speed, but lets a flood of small messages, long since handled, take hundreds of megabytes and keep them.
 *
 * Its price is that the thread stops for as long as it takes to go through all that lives: 30 to 60 ms where that is
 * little, and some 400 ms with as many headers as the main network has.
 */
export class Garbage {
  readonly #deps: GarbageDeps;
  #base: number;
  /** Not before this. */
  #next = 0;
  /** Times of collections that are due whatever is in use. */
  #planned: number[] = [];

  constructor(deps: GarbageDeps) {
    this.#deps = deps;
    this.#base = deps.used() ?? Number.POSITIVE_INFINITY;
  }

  /** Looks from time to time while `wanted`, for as long as the thread lives. */
  static keepSmall(clock: Pick<Clock, 'monotonicMs'>, wanted: () => boolean): void {
    const garbage = new Garbage({ ...SYSTEM, clock });
    setInterval(() => {
      if (wanted()) garbage.look();
    }, LOOK_MS).unref();
  }

  /** Collects where it is due. */
  look(): void {
    const { used, collect, clock } = this.#deps;
    const from = clock.monotonicMs();
    const before = used();
    if (before === null) return;
    // What the system was given back is room to grow again.
    this.#base = Math.min(this.#base, before);
    const growth = (before - this.#base) / (GROWTH + this.#base * GROWTH_SHARE);
    // Then there is time for nothing else, and those who flood us have to wait.
    if (growth < URGENT && from < this.#next) return;
    const grown = growth >= 1;
    if (!grown && from < (this.#planned[0] ?? Number.POSITIVE_INFINITY)) return;
    collect();
    this.#base = used() ?? before;
    const to = clock.monotonicMs();
    this.#next = to + (to - from) / SHARE_OF_TIME;
    this.#planned = grown ? AFTERWARDS_MS.map((ms) => to + ms) : this.#planned.slice(1);
  }
}

/** Linux reports it in a file, which cannot be opened when there are no descriptors. */
function residentBytes(): number | null {
  try {
    return process.memoryUsage.rss();
  } catch {
    return null;
  }
}
