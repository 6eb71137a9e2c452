import type { EventLog } from '../feed/event-log.ts';
import { hashFromHex } from '../primitives/hash.ts';
import type { TipSource } from '../queries/tip-view.ts';
import { SINK_SCHEMA_VERSION } from '../sink/sink-schema.ts';
import type { StoredEvents } from '../storage/event-store.ts';
import { sleep } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import { EventWindow, MAX_WINDOW_EVENTS } from './event-window.ts';
import { appendMempool, readMempoolStart, readRemoved, readTailPage } from './mempool-tail.ts';
import { ServedNode } from './served-node.ts';
import { type NumberedRecord, type SinkHead, type TailDatabase, tailProblem } from './tail-database.ts';

/** The chain and the events of a database, as the feed of a server reads them. */
export interface ServedChain extends StoredEvents, TipSource {
  readonly node: ServedNode;
  /** All blocks are there. */
  pruneHeight(): null;
}

export interface SinkTailOptions {
  readonly database: Omit<TailDatabase, 'close'>;
  /** The network that the database must hold, as `chainNameOf` names it. */
  readonly network: string;
  readonly log: Log;
  readonly clock: Clock;
  /** Called once, when the database can be served. Events up to the number `from` are not delivered. */
  onLive(chain: ServedChain, from: number): void;
  /** Receives the events of the mempool. */
  events(): EventLog;
  /** Called when the database has another tip, before its events are passed on. */
  onTip(): void;
  /** Called after each read of the position, when its events were passed on. */
  onMoved(): void;
}

/** The state of the tail, for readiness and metrics. */
export interface TailStatus {
  /** The last state of the database; null before the first. */
  readonly head: SinkHead | null;
  /** Number of the last event that was read; 0 before the first. */
  readonly seq: number;
  /** Milliseconds since the last state was read; null before the first. */
  readonly ageMs: number | null;
  /** The reason why the last attempt failed; null after a success. */
  readonly problem: string | null;
  readonly reads: number;
  readonly failures: number;
}

/** Pause between two reads of the position, milliseconds. */
const POLL_MS = 200;
const RETRY_MS = 500;
/** Events of one statement. */
const PAGE = 1000;

/**
 * Follows the position and the events of a sink. Events are passed on in the order of their numbers, after the database
 * has committed them together with the rows of their blocks.
 */
export class SinkTail {
  readonly #options: SinkTailOptions;
  #head: SinkHead | null = null;
  #live: { readonly window: EventWindow; readonly node: ServedNode } | null = null;
  #seq = 0;
  #readAt: number | null = null;
  #problem: string | null = null;
  #reads = 0;
  #failures = 0;
  /** Ends the present pause. */
  #wake: AbortController | null = null;

  constructor(options: SinkTailOptions) {
    this.#options = options;
  }

  get status(): TailStatus {
    const ageMs = this.#readAt === null ? null : this.#options.clock.monotonicMs() - this.#readAt;
    return {
      ...{ head: this.#head, seq: this.#seq, ageMs, problem: this.#problem },
      ...{ reads: this.#reads, failures: this.#failures },
    };
  }

  /** Follows the database until the signal aborts. Throws OperatorError where it cannot be served any more. */
  async run(signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#options;
    while (!signal.aborted) {
      let pauseMs = POLL_MS;
      try {
        await this.#advance();
        this.#reads++;
        this.#readAt = clock.monotonicMs();
        if (this.#problem !== null) log.info('the database is read again', { height: this.#head!.height });
        this.#problem = null;
      } catch (error) {
        if (signal.aborted) break;
        if (error instanceof OperatorError) throw error;
        this.#failures++;
        const problem = tailProblem(error);
        if (problem !== this.#problem) log.warn('the database cannot be read', { problem });
        this.#problem = problem;
        pauseMs = RETRY_MS;
      }
      await this.#pause(pauseMs, signal);
    }
  }

  /** Must be called when `run` has ended and no event is read any more. */
  close(): void {
    this.#live?.window[Symbol.dispose]();
  }

  /** Reads the position at once. */
  nudge(): void {
    this.#wake?.abort();
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    await sleep(ms, AbortSignal.any([signal, this.#wake.signal])).catch(() => {});
    this.#wake = null;
  }

  async #advance(): Promise<void> {
    const head = await this.#options.database.readHead();
    this.#check(head);
    if (this.#live === null) {
      this.#head = head;
      if (head.phase !== 'live' || head.header === null) return;
      await this.#open(head);
      return;
    }
    const { window, node } = this.#live;
    const { database, events } = this.#options;
    if (head.hash !== this.#head!.hash) this.#options.onTip();
    while (this.#seq < head.nextSeq - 1) {
      const { chain, mempool, upTo } = await readTailPage(database, this.#seq, head.nextSeq);
      const removed = await readRemoved(database, this.#seq);
      this.#head = head;
      window.addEvents(chain);
      if (removed !== null) events().appendGap(Math.min(removed, upTo));
      appendMempool(events(), mempool);
      this.#seq = upTo;
      const newest = chain.at(-1);
      if (newest) node.publish(head, newest.seq);
    }
    this.#head = head;
    this.#options.onMoved();
  }

  /** Reads the newest events, and begins to serve. */
  async #open(head: SinkHead): Promise<void> {
    const window = new EventWindow(head.logTag);
    const { database, events, onLive } = this.#options;
    // Most numbers are those of the mempool.
    for (let seq = await database.readEventsStart(MAX_WINDOW_EVENTS); seq < head.nextSeq - 1; ) {
      const rows = await database.readEvents(seq, head.nextSeq, PAGE);
      window.addEvents(rows);
      seq = rows.length < PAGE ? head.nextSeq - 1 : rows.at(-1)!.seq;
    }
    const { from, isAfterGap } = await readMempoolStart(database, window.events.bounds().oldest, head.nextSeq);
    const mempool: NumberedRecord[] = [];
    for (let seq = from; seq < head.nextSeq - 1; ) {
      const page = await readTailPage(database, seq, head.nextSeq);
      mempool.push(...page.mempool);
      seq = page.upTo;
    }
    const node = new ServedNode(head);
    this.#seq = head.nextSeq - 1;
    this.#head = head;
    this.#live = { window, node };
    const chain: ServedChain = {
      ...{ node, events: window.events, pruneHeight: () => null },
      tip: () => {
        const { height, hash, header } = this.#head!;
        return { height, hash: hashFromHex(hash), header: header! };
      },
    };
    onLive(chain, from);
    if (isAfterGap) events().appendGap(from);
    appendMempool(events(), mempool);
    const { last } = window.events.bounds();
    if (last > from) node.publish(head, last);
    this.#options.onMoved();
  }

  /** Throws OperatorError where the database is not the one that this server may show. */
  #check({ version, network, logTag, nextSeq, phase }: SinkHead): void {
    const { network: own } = this.#options;
    if (version > SINK_SCHEMA_VERSION)
      throw new OperatorError(
        `the database has tables of version ${version}, and this program knows ${SINK_SCHEMA_VERSION}: it was made by a newer version`,
      );
    if (network !== own) throw new OperatorError(`the database holds the chain of network ${network}, not of ${own}`);
    if (this.#live === null) return;
    const isSame = logTag === this.#head!.logTag && nextSeq > this.#seq && phase === 'live';
    if (!isSame)
      throw new OperatorError('the database was replaced by another one: the server must start again with its events');
  }
}
