export interface FairQueueLimits {
  /** Items of one key that may wait, and of all keys. */
  readonly perKey: number;
  readonly total: number;
}

/** Why an item is not in the queue; `displaced` names one that has left it to make room. */
export type Enqueued<T> =
  | { readonly ok: true; readonly displaced: T | null }
  | { readonly ok: false; readonly full: 'key' | 'queue' };

interface Lane<T> {
  readonly items: T[];
  /** Items that run. */
  running: number;
  /** What the key has used, on the common scale of all keys that are here. */
  used: number;
}

/** Cost assumed for an item until it has ended. */
const ESTIMATE = 5;

/**
 * Items of many keys, of which the key that has used least goes first; within a key in order. A key that comes anew starts
 * level with the others, so that it neither waits for what they used before nor may catch up on it.
 */
export class FairQueue<T> {
  readonly #limits: FairQueueLimits;
  readonly #lanes = new Map<string, Lane<T>>();
  #size = 0;
  /** What the key had used that was served last. */
  #level = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Puts an item behind the others of its key. When the queue is full, the key with the most items loses its last one. */
  push(key: string, item: T): Enqueued<T> {
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

  /** Puts an item that was taken before behind the others of its key, whatever the limits say. */
  requeue(key: string, item: T): void {
    this.#lane(key).items.push(item);
    this.#size++;
  }

  /** Takes the next item that `may` be taken. Its key is charged when `ended` is called. */
  take(may: (item: T, key: string) => boolean): { readonly key: string; readonly item: T } | null {
    let best: { readonly key: string; readonly lane: Lane<T>; readonly at: number } | null = null;
    for (const [key, lane] of this.#lanes) {
      if (best && lane.used >= best.lane.used) continue;
      const at = lane.items.findIndex((item) => may(item, key));
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

  /** To be called once for each item that was taken, with what it has cost. */
  ended(key: string, cost: number): void {
    const lane = this.#lanes.get(key);
    if (!lane) return;
    lane.running--;
    lane.used += cost - ESTIMATE;
    this.#forgetIdle(key, lane);
  }

  /** Removes an item whose caller has left. */
  remove(key: string, item: T): void {
    const lane = this.#lanes.get(key);
    const at = lane?.items.indexOf(item) ?? -1;
    if (!lane || at < 0) return;
    lane.items.splice(at, 1);
    this.#size--;
    this.#forgetIdle(key, lane);
  }

  /** Empties the queue. */
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
