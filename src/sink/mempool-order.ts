import { hashToHex } from '../primitives/hash.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { EventRecord } from '../storage/event-store.ts';
import { sleep } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import type { MempoolItem, MempoolQueue } from './mempool-queue.ts';
import type { NamedBlock, SinkEvent } from './sink-events.ts';

/** An event that gets a number of the database. */
export type SinkItem = SinkEvent | MempoolItem;

/** Events to write, with the first ones of the queue among them. */
export interface OrderedItems {
  readonly items: readonly SinkItem[];
  /** Number of those that are from the queue. */
  readonly queued: number;
  /** Number in the node's log of the last event of the chain that is written with or before them. */
  readonly mark: number | null;
}

export interface MempoolOrderOptions {
  readonly reads: ChainReads;
  readonly queue: MempoolQueue;
  readonly clock: Clock;
}

/** The events of a block wait this long for the events of the mempool before them, milliseconds. */
const WAIT_MS = 1000;
const POLL_MS = 5;
/** Events that one transaction without a block writes at most. */
const MAX_ITEMS = 2000;
/** Each event of the node's log begins with its number, its time and, if it is of one block, the hash. */
const HEAD = 200;
const HASH = /"hash":"([0-9a-f]{64})"/;

/**
 * Finds the place of each event of the mempool among the events of the chain that the sink writes. The node numbers both in
 * one sequence, so the mempool events with numbers between those of two blocks belong between these blocks. Where the blocks
 * that the sink writes are not the next ones of the node's log, as after two reorgs in a moment, or where events do not
 * arrive in time, the events of the mempool are dropped and become a gap.
 */
export class MempoolOrder {
  readonly #options: MempoolOrderOptions;
  /** Number in the node's log of the last event of the chain that is written; null while it is not known. */
  #mark: number | null = null;

  constructor(options: MempoolOrderOptions) {
    this.#options = options;
  }

  /** Records that these events are written. */
  recordWritten({ queued, mark }: OrderedItems): void {
    this.#options.queue.removeFirst(queued);
    this.#mark = mark;
  }

  /** Must be called where the order is lost. Events that belong before the place where it is found again become a gap. */
  loseOrder(): void {
    this.#mark = null;
  }

  /**
   * Returns the events that belong before the next one of the chain; null without any. `position` is the last block that is
   * written, and `tip` that of the node, which has no change to write.
   */
  nextItems(position: NamedBlock, tip: NamedBlock): OrderedItems | null {
    const { reads, queue } = this.#options;
    if (!queue.isOpen || (this.#mark !== null && queue.length === 0)) return null;
    if (tip.hash !== position.hash) {
      // The events of this node are those of another chain than the database has.
      this.loseOrder();
      queue.dropAll();
      return null;
    }
    const end = reads.snapshot(() => {
      // Otherwise the node has another tip by now, whose events are written first.
      if (this.#mark === null && hashToHex(reads.tip().hash) === position.hash) this.#findOrder();
      return this.#mark === null ? null : (this.#blockRows(this.#mark, 1)[0]?.seq ?? Number.POSITIVE_INFINITY);
    });
    const items = end === null ? [] : queue.itemsBefore(end, MAX_ITEMS);
    return items.length === 0 ? null : { items, queued: items.length, mark: this.#mark };
  }

  /** Returns the events of a change of the chain with those of the mempool among them. */
  async placeAmong(events: readonly SinkEvent[], signal: AbortSignal): Promise<OrderedItems> {
    const { reads, queue } = this.#options;
    const mark = this.#mark;
    const blocks = events.filter(({ type }) => type !== 'reorg');
    const rows = mark === null ? [] : reads.snapshot(() => this.#blockRows(mark, blocks.length));
    const isNext = rows.length === blocks.length && rows.every((row, i) => isEventOf(row, blocks[i]!));
    // A reorg event of the node follows the events of the mempool that its blocks have caused.
    const reorg = isNext && blocks.length < events.length ? this.#reorgBehind(rows.at(-1)!.seq) : null;
    if (mark === null || !isNext || !(await this.#hasArrived(reorg ?? rows.at(-1)!.seq, signal))) {
      this.loseOrder();
      return { items: events, queued: 0, mark: null };
    }
    // The place of each event in the node's log; that of the reorg event is behind the last block where the node has none.
    const seqs = rows.map(({ seq }) => seq);
    if (blocks.length < events.length) seqs.push(reorg ?? seqs.at(-1)!);
    const waiting = queue.itemsBefore(seqs.at(-1)!);
    const items: SinkItem[] = [];
    let at = 0;
    for (const [i, event] of events.entries()) {
      while (at < waiting.length && waiting[at]!.seq < seqs[i]!) items.push(waiting[at++]!);
      items.push(event);
    }
    return { items, queued: waiting.length, mark: seqs.at(-1)! };
  }

  /** Begins behind the newest event of the chain, once all events before it have arrived. */
  #findOrder(): void {
    const { reads, queue } = this.#options;
    const { last } = reads.events.bounds();
    if (!queue.hasArrived(last)) return;
    this.#mark = last;
    queue.dropUpTo(last);
  }

  /** Returns the next events of blocks in the node's log. Reorg events are left out. */
  #blockRows(after: number, limit: number): EventRecord[] {
    const { events } = this.#options.reads;
    const rows: EventRecord[] = [];
    let from = after;
    for (;;) {
      const wanted = limit - rows.length;
      const page = events.after(from, wanted);
      rows.push(...page.filter(({ type }) => type !== 'reorg'));
      if (page.length < wanted || rows.length === limit) return rows;
      from = page.at(-1)!.seq;
    }
  }

  /** Returns the number of the reorg event that follows an event of the chain; null where another one follows. */
  #reorgBehind(seq: number): number | null {
    const [next] = this.#options.reads.events.after(seq, 1);
    return next?.type === 'reorg' ? next.seq : null;
  }

  async #hasArrived(seq: number, signal: AbortSignal): Promise<boolean> {
    const { queue, clock } = this.#options;
    const until = clock.monotonicMs() + WAIT_MS;
    while (!queue.hasArrived(seq)) {
      if (!queue.isOpen || clock.monotonicMs() > until) return false;
      await sleep(POLL_MS, signal);
    }
    return true;
  }
}

function isEventOf({ type, data }: EventRecord, event: SinkEvent): boolean {
  return type === event.type && HASH.exec(data.slice(0, HEAD))?.[1] === event.hash;
}
