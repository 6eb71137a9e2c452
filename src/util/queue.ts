import { assert } from './assert.ts';

/** What `offer` does with a full queue: turns the new item away, or forgets the oldest one. */
export type WhenFull = 'refuse' | 'drop-oldest';

/** First in, first out, never longer than its capacity. One or more takers may wait for items. */
export class BoundedQueue<T extends NonNullable<unknown>> {
  readonly capacity: number;
  readonly #whenFull: WhenFull;
  readonly #items: (T | undefined)[];
  #head = 0;
  #size = 0;
  #closed = false;
  #lost = 0;
  readonly #takers = new Set<(item: T | undefined) => void>();
  readonly #putters = new Set<() => void>();

  constructor(capacity: number, whenFull: WhenFull = 'refuse') {
    assert(Number.isSafeInteger(capacity) && capacity > 0, 'capacity is a positive integer');
    this.capacity = capacity;
    this.#whenFull = whenFull;
    this.#items = [];
  }

  get size(): number {
    return this.#size;
  }

  /** Items refused or forgotten so far. */
  get lost(): number {
    return this.#lost;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Adds without waiting. False when the queue is closed, or full and set to refuse. */
  offer(item: T): boolean {
    if (this.#closed) return false;
    if (this.#size === this.capacity) {
      this.#lost++;
      if (this.#whenFull === 'refuse') return false;
      this.#shift();
    }
    this.#push(item);
    return true;
  }

  /** Adds, waiting for room. False when the queue is closed meanwhile; rejects with the signal's reason on abort. */
  async put(item: T, signal?: AbortSignal): Promise<boolean> {
    signal?.throwIfAborted();
    while (!this.#closed && this.#size === this.capacity) await this.#wait(this.#putters, signal);
    if (this.#closed) return false;
    this.#push(item);
    return true;
  }

  /** The oldest item, waiting for one; undefined once the queue is closed and empty. Rejects on abort. */
  async take(signal?: AbortSignal): Promise<T | undefined> {
    signal?.throwIfAborted();
    if (this.#size > 0) return this.#shift();
    if (this.#closed) return undefined;
    return await this.#wait<T | undefined>(this.#takers, signal);
  }

  /** The oldest item or undefined, without waiting. */
  poll(): T | undefined {
    return this.#size > 0 ? this.#shift() : undefined;
  }

  /** Takes no more items; those inside can still be taken. */
  close(): void {
    this.#closed = true;
    for (const taker of this.#takers) taker(undefined);
    for (const putter of this.#putters) putter();
    this.#takers.clear();
    this.#putters.clear();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    for (let item = await this.take(); item !== undefined; item = await this.take()) yield item;
  }

  #push(item: T): void {
    const taker = first(this.#takers);
    // A taker waits only while the queue is empty, so handing over directly keeps the order.
    if (taker) {
      this.#takers.delete(taker);
      taker(item);
      return;
    }
    this.#items[(this.#head + this.#size) % this.capacity] = item;
    this.#size++;
  }

  #shift(): T {
    const item = this.#items[this.#head] as T;
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.capacity;
    this.#size--;
    const putter = first(this.#putters);
    if (putter) {
      this.#putters.delete(putter);
      putter();
    }
    return item;
  }

  #wait<V>(waiters: Set<(value: V) => void>, signal: AbortSignal | undefined): Promise<V> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        waiters.delete(wake);
        reject(signal!.reason);
      };
      const wake = (value: V) => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      };
      waiters.add(wake);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }
}

function first<V>(set: Set<V>): V | undefined {
  for (const value of set) return value;
  return undefined;
}
