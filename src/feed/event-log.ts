import type { EventLogLimits } from '../http/options.ts';
import type { TxSource } from '../mempool/mirror.ts';
import type { EventRecord, StoredEvents } from '../storage/event-store.ts';
import type { Clock } from '../util/clock.ts';
import { type EventPosition, type ITSELF, WHOLE } from './event-cursor.ts';
import { type CursorFault, EventHistory, type Gap, type ResumePoint } from './event-history.ts';
import { KeptEntries } from './kept-entries.ts';
import {
  isMempoolEvent,
  type KeptEntry,
  keptChange,
  keptRecord,
  keptRow,
  type LogEntry,
  type MempoolRecord,
  type NumberedChange,
  storedEntry,
} from './log-entry.ts';
import type { SeenChange } from './mempool-feed.ts';

export interface EventLogOptions {
  readonly clock: Clock;
  readonly limits: EventLogLimits;
  /** Time limit of one slice of reading new events, milliseconds; 1 by default. */
  readonly sliceMs?: number;
  /** Returns the transactions in the mempool. */
  unconfirmed?(): Iterable<TxSource>;
  /** Returns a copy of the transaction at a slot of the mempool, if the event `seq` announced it and it is still there. */
  unconfirmedAt?(slot: number, seq: number): TxSource | null;
  /** Called with each event of the chain when it is first read. */
  onChainEvent?(type: string, data: string): void;
  onError?(error: unknown): void;
}

type PendingUpdate =
  | { readonly lastSeq: number }
  | { readonly change: NumberedChange }
  | { readonly record: MempoolRecord }
  | { readonly gapAt: number };

/** Rows per query; some are large. */
const PAGE = 32;
const SLICE_MS = 1;
/** Limit of the entries scanned for one page. */
const MAX_SCAN = 10_000;
const RETRY_MS = 1000;

/**
 * All events in one order: events of the chain, which are rows of the database, and events of the mempool, which exist
 * in memory only and end with the process. Events of both kinds newer than `#evictedTo` are in memory; of older events
 * only the rows exist.
 *
 * Node updates are processed in the order of their arrival. Before a mempool event is appended, all rows with lower
 * numbers are read, even if their commit was not announced yet: they were committed before its number was assigned. Rows
 * with higher numbers wait for their commit, since earlier events of the mempool may still arrive. So numbers only grow,
 * and the log is complete up to `seq`. An event that still arrives too late is left out and reported as a gap.
 */
export class EventLog {
  readonly #clock: Clock;
  readonly #limits: EventLogLimits;
  readonly #sliceMs: number;
  readonly #options: EventLogOptions;
  readonly #listeners = new Set<() => void>();
  #reads: StoredEvents | null = null;
  #pending: PendingUpdate[] = [];
  readonly #kept: KeptEntries;
  #seq = 0;
  #announced = 0;
  #evictedTo = 0;
  #lostTo = 0;
  #gapTo = 0;
  /** Null before the database is attached. */
  #history: EventHistory | null = null;
  /** Number of the newest event of the chain that is read. */
  #chainSeq = 0;
  #scheduled = false;
  #closed = false;

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#sliceMs = options.sliceMs ?? SLICE_MS;
    this.#kept = new KeptEntries({
      unconfirmedAt: (slot, seq) => options.unconfirmedAt?.(slot, seq) ?? null,
      pendingRemoval: (seq) => this.#pendingRemoval(seq),
      maxBytes: this.#limits.bytes,
    });
  }

  /** Number of the newest event that can be delivered. */
  get seq(): number {
    return this.#seq;
  }

  /** Number of the newest event, read or not. All later events have higher numbers. */
  get latest(): number {
    return Math.max(this.#announced, this.#reads?.events.bounds().last ?? 0);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Attaches the database. Events up to the number `from` are not delivered; by default that of the newest one. Returns
   * that number.
   */
  attach(reads: StoredEvents, from = reads.events.bounds().last): number {
    this.#reads = reads;
    this.#seq = this.#announced = this.#evictedTo = from;
    // The number may be that of an event of the mempool. Cursors name the newest event of the chain.
    this.#chainSeq = reads.events.newestUpTo(from);
    this.#history = new EventHistory(reads.events);
    return from;
  }

  /** Called when the chain has committed events up to this number. */
  committed(lastSeq: number): void {
    this.#announced = Math.max(this.#announced, lastSeq);
    this.#pending.push({ lastSeq });
    this.#advance();
  }

  /** Appends changes of the mempool in their order. */
  append(changes: readonly SeenChange[]): void {
    for (const change of changes) {
      if (change.kind === 'modified' || change.kind === 'fees' || change.kind === 'totals') continue;
      this.#announced = Math.max(this.#announced, change.seq);
      this.#pending.push({ change });
      // At once, since the mempool no longer has the transaction.
      if (change.kind === 'removed' && change.gone) this.#kept.linkRemoval(change.gone.addedSeq, change.seq);
    }
    this.#advance();
  }

  /** Appends events of the mempool that a database has. They follow the events of the chain with lower numbers. */
  appendRecords(records: readonly MempoolRecord[]): void {
    for (const record of records) {
      this.#announced = Math.max(this.#announced, record.seq);
      this.#pending.push({ record });
    }
    this.#advance();
  }

  /** Records that events of the mempool up to a number are missing in the database. Clients learn of it in its place. */
  appendGap(seq: number): void {
    this.#announced = Math.max(this.#announced, seq);
    this.#pending.push({ gapAt: seq });
    this.#advance();
  }

  /**
   * Returns at most `limit` events after a number, in order; all types if `types` is null. `scanned` is the last scanned
   * number, from which to continue. It equals the given number only if there is no newer event.
   */
  after(
    seq: number,
    limit: number,
    types: ReadonlySet<string> | null = null,
  ): { entries: LogEntry[]; scanned: number } {
    if (!this.#reads || seq >= this.#seq) return { entries: [], scanned: seq };
    if (seq < this.#evictedTo) return this.#stored(this.#reads, seq, limit, types);
    const kept = this.#kept;
    const entries: LogEntry[] = [];
    const first = kept.find(seq);
    let at = first;
    const end = Math.min(kept.length, at + MAX_SCAN);
    for (; at < end && entries.length < limit; at++)
      if (!types || types.has(kept.typeAt(at))) entries.push(kept.entryAt(at));
    return { entries, scanned: at === kept.length ? this.#seq : at === first ? seq : kept.seqAt(at - 1) };
  }

  /** Returns the gaps after a point for a client that wants these types, all if null: events of all kinds come first. */
  gapsBehind(point: ResumePoint, types: ReadonlySet<string> | null = null): Gap[] {
    return this.#history?.gapsBehind(point, types, (seq) => this.#holds(seq)) ?? [];
  }

  /** Returns the gap of a client whose position is not in this log. The database must be attached. */
  gapUpToLatest(): Gap {
    return this.#history!.gapUpTo(this.end.seq);
  }

  /** Returns the point that a cursor names. */
  locate(cursor: string): ResumePoint | CursorFault {
    return this.#history?.locate(cursor, this.latest) ?? 'ahead';
  }

  /** Returns the point after the event with a number, or after all its messages; null if no event can have that number. */
  behind(seq: number, within: typeof ITSELF | typeof WHOLE): ResumePoint | null {
    return seq <= Math.max(this.latest, this.#history?.reservedBefore ?? 0) ? { seq, within, chainSeq: null } : null;
  }

  /** Returns the cursor of a point. The database must be attached. */
  cursorAt(position: EventPosition): string {
    return this.#history!.cursorAt(position);
  }

  /** The position after all events, read or not, also after those that ended with an earlier process. */
  get end(): EventPosition {
    return { seq: Math.max(this.latest, this.#history?.mempoolFloor ?? 0), within: WHOLE };
  }

  /** The cursor of `end`. The database must be attached. */
  get latestCursor(): string {
    return this.cursorAt(this.end);
  }

  /** Returns the number behind which the last of these gaps is not reported again. */
  endOfGaps(gaps: readonly Gap[]): number {
    const gap = gaps.at(-1);
    if (!gap) return 0;
    return gap.scope === 'mempool' ? Math.max(gap.toSeq, this.#history!.mempoolFloor) : gap.toSeq;
  }

  /** Number up to which mempool events of this process were evicted. A client below it misses some. */
  get lostTo(): number {
    return this.#lostTo;
  }

  /** Number of the last gap of `appendGap`; 0 without one. */
  get gapTo(): number {
    return this.#gapTo;
  }

  /** Returns the numbers of the oldest stored events of the chain and of the mempool; 0 without any. */
  oldest(): { chain: number; mempool: number } {
    const kept = this.#kept;
    const chain = this.#reads?.events.bounds().oldest ?? 0;
    for (let at = 0; at < kept.length; at++)
      if (isMempoolEvent({ type: kept.typeAt(at) })) return { chain, mempool: kept.seqAt(at) };
    return { chain, mempool: 0 };
  }

  /** Returns the transactions in the mempool. */
  mempool(): Iterable<TxSource> {
    return this.#options.unconfirmed?.() ?? [];
  }

  /** Number of observers. */
  get listeners(): number {
    return this.#listeners.size;
  }

  /** Adds an observer of growth of `seq` and of the end of the log. Returns the function that removes it. */
  onGrown(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Closes the log and notifies the observers. */
  close(): void {
    this.#closed = true;
    this.#pending = [];
    this.#notify();
  }

  #advance(): void {
    if (!this.#reads || this.#closed || this.#scheduled) return;
    const before = this.#seq;
    try {
      if (!this.#process(this.#reads, performance.now() + this.#sliceMs)) this.#scheduleAdvance(0);
    } catch (error) {
      this.#options.onError?.(error);
      this.#scheduleAdvance(RETRY_MS);
    }
    if (this.#seq > before) this.#notify();
  }

  #scheduleAdvance(ms: number): void {
    this.#scheduled = true;
    const run = () => {
      this.#scheduled = false;
      this.#advance();
    };
    if (ms > 0) setTimeout(run, ms).unref();
    else setImmediate(run);
  }

  /** Processes the node updates. Returns false if the slice ended first. */
  #process(reads: StoredEvents, until: number): boolean {
    let done = 0;
    let complete = true;
    for (const update of this.#pending) {
      if (performance.now() >= until) complete = false;
      else if ('lastSeq' in update) complete = this.#readRows(reads, update.lastSeq, until);
      else {
        // The last number of a gap may be that of an event of the chain.
        complete = this.#readRows(reads, 'gapAt' in update ? update.gapAt : numberOf(update) - 1, until);
        if (complete) this.#appendUpdate(update);
      }
      if (!complete) break;
      done++;
    }
    this.#pending.splice(0, done);
    this.#evict();
    return complete;
  }

  /** Reads rows up to a number. Returns false if the slice ended first. */
  #readRows({ events }: StoredEvents, upTo: number, until: number): boolean {
    while (this.#seq < upTo) {
      const rows = events.after(this.#seq, PAGE);
      for (const row of rows) {
        if (row.seq > upTo) return true;
        this.#options.onChainEvent?.(row.type, row.data);
        this.#keep(this.#keptRow(row));
        this.#chainSeq = row.seq;
      }
      if (rows.length < PAGE) return true;
      if (performance.now() >= until) return false;
    }
    return true;
  }

  #appendUpdate(update: Exclude<PendingUpdate, { lastSeq: number }>): void {
    const seq = numberOf(update);
    if ('gapAt' in update) {
      this.#seq = Math.max(this.#seq, seq);
      this.#gapTo = seq;
      this.#recordLoss(seq);
      return;
    }
    if (seq <= this.#seq) {
      // A higher number was already delivered.
      this.#recordLoss(this.#seq);
      return;
    }
    const cursor = this.#history!.cursorOf(seq, this.#chainSeq);
    if ('record' in update) {
      this.#keep(keptRecord(update.record, cursor));
      return;
    }
    const { change } = update;
    if ('silent' in change && change.silent) this.#seq = seq;
    else this.#keep(keptChange(change, cursor));
  }

  #keep(entry: KeptEntry): void {
    this.#kept.add(entry, this.#clock.monotonicMs());
    this.#seq = entry.seq;
  }

  #evict(): void {
    const { entries, bytes, ageMs } = this.#limits;
    const kept = this.#kept;
    const oldest = this.#clock.monotonicMs() - ageMs;
    while (kept.length > 0 && (kept.length > entries || kept.bytes > bytes || kept.timeAt(0) < oldest)) {
      const first = kept.evictFirst();
      this.#evictedTo = first.seq;
      if (isMempoolEvent(first)) this.#recordLoss(first.seq);
    }
  }

  #pendingRemoval(seq: number): TxSource | null {
    for (const update of this.#pending)
      if ('change' in update && update.change.seq === seq && update.change.kind === 'removed')
        return update.change.gone ?? null;
    return null;
  }

  #recordLoss(upTo: number): void {
    this.#lostTo = Math.max(this.#lostTo, upTo);
    this.#history?.loseMempool(upTo);
  }

  #stored({ events }: StoredEvents, seq: number, limit: number, types: ReadonlySet<string> | null) {
    const wanted = Math.min(limit, PAGE);
    const rows = events.after(seq, wanted);
    const old = rows.filter((row) => row.seq <= this.#evictedTo);
    const more = old.length === wanted;
    return {
      entries: old
        .filter(({ type }) => !types || types.has(type))
        .map((row) => storedEntry(row, this.#history!.cursorOf(row.seq, row.seq))),
      scanned: more ? old.at(-1)!.seq : this.#evictedTo,
    };
  }

  #keptRow(row: EventRecord): KeptEntry {
    return keptRow(row, this.#history!.cursorOf(row.seq, row.seq));
  }

  /** Whether the event with a number is still stored. */
  #holds(seq: number): boolean {
    if (seq > this.#evictedTo) {
      const at = this.#kept.find(seq - 1);
      return at < this.#kept.length && this.#kept.seqAt(at) === seq;
    }
    return this.#reads?.events.newestUpTo(seq) === seq && seq > 0;
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function numberOf(update: Exclude<PendingUpdate, { lastSeq: number }>): number {
  if ('gapAt' in update) return update.gapAt;
  return 'record' in update ? update.record.seq : update.change.seq;
}
