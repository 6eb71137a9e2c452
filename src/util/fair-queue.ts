export interface FairQueueLimits {
  /** Bounds on the waiting items: of one key, and of all keys. */
  readonly perKey: number;
  readonly total: number;
}

/** Result of `enqueue`. `displaced` is an item that was removed to make room. */
export type Enqueued<T> =
  | { readonly ok: true; readonly displaced: T | null }
  | { readonly ok: false; readonly full: 'key' | 'queue' };

interface Lane<T> {
  readonly items: T[];
  /** Items that were dequeued and have not completed. */
  running: number;
  /** Cost used by the key, on a scale that all keys share. */
  used: number;
}

/** Cost assumed for an item until it completes. */
const ESTIMATE = 5;

/**
 * A queue of items of many keys. The key that has used least is served first; its items in order. A new key starts at
 * the level of the key served last, so that it neither waits for the earlier use of others nor may catch up on it.
 */
export class FairQueue<T> {
  readonly #limits: FairQueueLimits;
  readonly #lanes = new Map<string, Lane<T>>();
  #size = 0;
  /** Cost used by the key that was served last. */
  #level = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Appends an item to those of its key. When the queue is full, the key with the most items loses its last one. */
  enqueue(key: string, item: T): Enqueued<T> {
    const waiting = this.#lanes.get(key)?.items.length ?? 0;
    if (waiting >= this.#limits.perKey) return { ok: false, full: 'key' };
    let displaced: T | null = null;
    if (this.#size >= this.#limits.total) {
      const longest = [...this.#lanes.values()].reduce((a, b) => (b.items.length > a.items.length ? b : a));
      if (longest.items.length <= waiting + 1) return { ok: false, full: 'queue' };
      displaced = longest.items.pop()!;
      this.#size--;
    }
    this.#lane(key).items.push(item);
    this.#size++;
    return { ok: true, displaced };
  }

  /** Appends a dequeued item again, regardless of the limits. */
  requeue(key: string, item: T): void {
    this.#lane(key).items.push(item);
    this.#size++;
  }

  /**
   * Removes and returns the next item that `isAllowed` accepts; null without one. Its key is charged when `complete` is
   * called.
   */
  dequeue(isAllowed: (item: T, key: string) => boolean): { readonly key: string; readonly item: T } | null {
    let best: { readonly key: string; readonly lane: Lane<T>; readonly at: number } | null = null;
    for (const [key, lane] of this.#lanes) {
      if (best && lane.used >= best.lane.used) continue;
      const at = lane.items.findIndex((item) => isAllowed(item, key));
      if (at >= 0) best = { key, lane, at };
    }
    if (!best) return null;
    const { key, lane, at } = best;
    const [item] = lane.items.splice(at, 1);
    this.#size--;
    this.#level = Math.max(this.#level, lane.used);
    lane.running++;
    lane.used += ESTIMATE;
    return { key, item: item! };
  }

  /** Must be called once for each dequeued item, with its cost. */
  complete(key: string, cost: number): void {
    const lane = this.#lanes.get(key);
    if (!lane) return;
    lane.running--;
    lane.used += cost - ESTIMATE;
    this.#forgetIdle(key, lane);
  }

  /** Removes an item whose caller has disconnected. */
  remove(key: string, item: T): void {
    const lane = this.#lanes.get(key);
    const at = lane?.items.indexOf(item) ?? -1;
    if (!lane || at < 0) return;
    lane.items.splice(at, 1);
    this.#size--;
    this.#forgetIdle(key, lane);
  }

  /** Removes and returns all items. */
  drain(): T[] {
    const items = [...this.#lanes.values()].flatMap((lane) => lane.items.splice(0));
    this.#size = 0;
    for (const [key, lane] of this.#lanes) this.#forgetIdle(key, lane);
    return items;
  }

  #lane(key: string): Lane<T> {
    let lane = this.#lanes.get(key);
    if (!lane) this.#lanes.set(key, (lane = { items: [], running: 0, used: this.#level }));
    return lane;
  }

  #forgetIdle(key: string, lane: Lane<T>): void {
    if (lane.items.length === 0 && lane.running === 0) this.#lanes.delete(key);
  }
}
