import type { ChainReads } from '../storage/chain-reads.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { SinkLease } from './leader-lease.ts';
import type { MempoolBatch } from './mempool-entries.ts';
import { MempoolOrder, type OrderedItems, type SinkItem } from './mempool-order.ts';
import { MempoolQueue } from './mempool-queue.ts';
import type { SinkDatabase, SinkPosition, SinkWrite } from './sink-database.ts';
import type { NamedBlock, SinkEvent } from './sink-events.ts';

export interface MempoolWriterOptions {
  readonly reads: ChainReads;
  readonly database: SinkDatabase;
  readonly clock: Clock;
  /** Called when the events of the node's mempool are wanted, and when they are not. */
  readonly onOpen: (isOpen: boolean) => void;
  /** Called with the bytes of events that are no longer held. */
  readonly onReleased: (bytes: number) => void;
}

/** A change whose events are those of the chain. */
export interface ChainWrite extends SinkWrite {
  readonly events: readonly SinkEvent[];
}

/** Numbers of events written since the start, of gaps between them, and of events that wait. */
interface MempoolCounts {
  readonly mempoolEvents: number;
  readonly mempoolGaps: number;
  readonly mempoolQueue: number;
}

/**
 * Attempts with events of the mempool that the database may refuse in a row. It is reached before each of them, so the events
 * are the likely reason, and those of the chain must not wait for them.
 */
const MOST_REFUSED = 3;

/**
 * Writes the events of the node's mempool to the database, between those of the chain. An event is written once: where the
 * outcome of a transaction is not known, the number of the next event in the database shows whether it was committed.
 */
export class MempoolWriter {
  readonly #options: MempoolWriterOptions;
  readonly #queue: MempoolQueue;
  readonly #order: MempoolOrder;
  #isOpen = false;
  #events = 0;
  #gaps = 0;
  /** Number of the next event as this node knows it; null before it is the leader. */
  #nextSeq: number | null = null;
  /** Events of a transaction whose outcome is not known. */
  #unknown: OrderedItems | null = null;
  /** Number of attempts with events of the mempool that have failed in a row. */
  #refused = 0;

  constructor(options: MempoolWriterOptions) {
    const { reads, clock, onReleased } = options;
    this.#options = options;
    this.#queue = new MempoolQueue(onReleased);
    this.#order = new MempoolOrder({ reads, clock, queue: this.#queue });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get counts(): MempoolCounts {
    return { mempoolEvents: this.#events, mempoolGaps: this.#gaps, mempoolQueue: this.#queue.length };
  }

  /** Adds events of the node. */
  addBatch(batch: MempoolBatch): void {
    this.#queue.add(batch);
  }

  /** Asks the node for its events. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#options.onOpen(true);
  }

  /** Drops all events: another node writes. */
  close(): void {
    this.#order.loseOrder();
    this.#queue.close();
    this.#unknown = null;
    this.#nextSeq = null;
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#options.onOpen(false);
  }

  /** Continues as the leader behind what the database has. */
  resume({ isContinued }: SinkLease, { nextSeq }: SinkPosition): void {
    const unknown = this.#unknown;
    const isCommitted = unknown !== null && nextSeq === this.#nextSeq! + unknown.items.length;
    if (!isContinued || (nextSeq !== this.#nextSeq && !isCommitted)) this.close();
    else if (isCommitted) this.#recordWritten(unknown);
    else if (unknown !== null && unknown.queued > 0) this.#refused++;
    if (this.#refused >= MOST_REFUSED) this.#dropWaiting();
    this.#unknown = null;
    this.#nextSeq = nextSeq;
  }

  /** Writes the next events up to the next one of the chain. `tip` is that of the node, which has no change to write. */
  async writeNext(position: NamedBlock, tip: NamedBlock): Promise<void> {
    const { database } = this.#options;
    const next = this.#isOpen ? this.#order.nextItems(position, tip) : null;
    if (next === null) return;
    const time = unixSeconds(this.#options.clock);
    await this.#commit(next, () => database.commitMempoolEvents(next.items, { height: position.height, time }));
  }

  /** Writes a change of the chain, with the events of the mempool among its own. */
  async writeChange(write: ChainWrite, phase: SinkPosition['phase'], signal: AbortSignal): Promise<void> {
    const { events } = write;
    const next = this.#isOpen ? await this.#order.placeAmong(events, signal) : { items: events, queued: 0, mark: null };
    await this.#commit(next, () => this.#options.database.commitChange({ ...write, events: next.items }, phase));
  }

  /** Drops the events that wait, which become a gap. */
  #dropWaiting(): void {
    this.#refused = 0;
    this.#order.loseOrder();
    this.#queue.dropAll();
  }

  async #commit(next: OrderedItems, commit: () => Promise<void>): Promise<void> {
    this.#unknown = next;
    await commit();
    this.#unknown = null;
    this.#recordWritten(next);
    this.#nextSeq! += next.items.length;
  }

  #recordWritten(next: OrderedItems): void {
    const count = (of: (item: SinkItem) => boolean) => next.items.filter(of).length;
    const gaps = count(({ type }) => type === 'gap');
    this.#gaps += gaps;
    this.#events += next.queued - gaps;
    this.#order.recordWritten(next);
    if (next.queued > 0) this.#refused = 0;
  }
}
