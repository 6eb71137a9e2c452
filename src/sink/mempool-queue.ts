import {
  type MempoolBatch,
  type MempoolEntry,
  type MempoolGap,
  mempoolEntryBytes,
  unpackMempoolEntries,
} from './mempool-entries.ts';

/** An event or a gap that waits to be written. */
export type MempoolItem = MempoolEntry | MempoolGap;

/** Written items before the first one that are kept in the array. */
const COMPACT_AT = 1024;

/**
 * Events of the mempool that wait to be written, in the order of the node's log. Its sender bounds their bytes. A gap is
 * written with the event behind it, so there are never two in a row, and none hides that later events are missing.
 */
export class MempoolQueue {
  readonly #onReleased: (bytes: number) => void;
  #items: MempoolItem[] = [];
  #first = 0;
  #count = 0;
  #isOpen = false;
  #arrivedTo = 0;

  /** `onReleased` is called with the bytes of events that are no longer held. */
  constructor(onReleased: (bytes: number) => void) {
    this.#onReleased = onReleased;
  }

  /** Number of events that wait. */
  get length(): number {
    return this.#count;
  }

  /** Whether a sender has begun. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Whether all events up to a number of the node's log have arrived. */
  hasArrived(seq: number): boolean {
    return this.#arrivedTo >= seq;
  }

  add(batch: MempoolBatch): void {
    const entries = unpackMempoolEntries(batch);
    if (batch.begins) {
      this.close();
      this.#isOpen = true;
      this.#arrivedTo = 0;
    }
    if (!this.#isOpen) {
      this.#releaseBytes(entries);
      return;
    }
    if (batch.isAfterGap) this.#addGap();
    for (const entry of entries) this.#items.push(entry);
    this.#count += entries.length;
    this.#arrivedTo = Math.max(this.#arrivedTo, batch.upTo);
  }

  /** Returns the first events whose numbers are below `seq`, at most `limit` items with the gaps before them. */
  itemsBefore(seq: number, limit = Number.POSITIVE_INFINITY): MempoolItem[] {
    const items: MempoolItem[] = [];
    for (let at = this.#first; at < this.#items.length && items.length < limit; at++) {
      const item = this.#items[at]!;
      if (item.seq >= seq) break;
      items.push(item);
    }
    while (items.at(-1)?.type === 'gap') items.pop();
    return items;
  }

  /** Removes the first items, which are written. */
  removeFirst(count: number): void {
    this.#release(this.#items.slice(this.#first, this.#first + count));
    this.#first += count;
    if (this.#first < COMPACT_AT && this.#first < this.#items.length) return;
    this.#items = this.#items.slice(this.#first);
    this.#first = 0;
  }

  /** Drops all events up to a number of the node's log. What follows begins with a gap. */
  dropUpTo(seq: number): void {
    const items = this.#items.slice(this.#first);
    const first = items.findIndex((item) => item.type !== 'gap' && item.seq > seq);
    const kept = first < 0 ? [] : items.slice(first);
    this.#release(items.slice(0, items.length - kept.length));
    this.#items = [{ type: 'gap', seq }, ...kept];
    this.#first = 0;
  }

  /** Drops all events, which become a gap. */
  dropAll(): void {
    this.#release(this.#items.slice(this.#first));
    this.#items = [];
    this.#first = 0;
    this.#addGap();
  }

  /** Drops all events, and those that arrive until a sender begins. */
  close(): void {
    this.dropAll();
    this.#items = [];
    this.#isOpen = false;
  }

  #addGap(): void {
    if (this.#items.length > this.#first && this.#items.at(-1)!.type === 'gap') return;
    this.#items.push({ type: 'gap', seq: this.#arrivedTo });
  }

  #release(items: readonly MempoolItem[]): void {
    const entries = items.filter((item) => item.type !== 'gap');
    this.#count -= entries.length;
    this.#releaseBytes(entries);
  }

  #releaseBytes(entries: readonly MempoolEntry[]): void {
    const bytes = entries.reduce((sum, entry) => sum + mempoolEntryBytes(entry), 0);
    if (bytes > 0) this.#onReleased(bytes);
  }
}
