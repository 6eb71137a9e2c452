import type { Database } from 'bun:sqlite';
import { randomInt } from 'node:crypto';
import { durably } from './database.ts';
import { type EventMark, type GivenNumbers, NONE_GIVEN } from './event-mark.ts';
import { MetaStore, MetaWriter } from './meta-store.ts';
import type { SeqFloor } from './seq-floor.ts';

/** An event of the log. `data` is the JSON text of its payload, with `seq` and `time`. */
export interface EventRecord {
  readonly seq: number;
  readonly type: string;
  readonly data: string;
}

/**
 * Event numbers from `first` up to the next range belong to one run of the writer. `tag` identifies the log and the
 * run.
 */
export interface EventRange {
  readonly first: number;
  readonly tag: string;
}

/** The events of the mempool that ended with earlier runs of the writer, by their numbers. */
export interface EndedEvents extends Pick<GivenNumbers, 'last' | 'lastCause'> {
  /** Events of transactions that a kill has removed from the mempool; null without any. */
  readonly undone: UndoneEvents | null;
}

interface UndoneEvents {
  readonly fromSeq: number;
  readonly toSeq: number;
  /** The last number of the run. Clients with a lower position do not know yet. */
  readonly floor: number;
}

/** An object with the stored events of the chain. */
export interface StoredEvents {
  readonly events: EventStore;
}

/** Read access to the event log. */
export class EventStore {
  readonly #after;
  readonly #bounds;
  readonly #newestUpTo;
  readonly #ranges;
  readonly #marks;

  constructor(db: Database) {
    this.#after = db.prepare<EventRecord, [number, number]>(
      'SELECT seq, type, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?',
    );
    this.#bounds = db.prepare<{ oldest: number | null; last: number | null }, []>(
      'SELECT (SELECT min(seq) FROM events) AS oldest, (SELECT max(seq) FROM events) AS last',
    );
    this.#newestUpTo = db.prepare<{ seq: number | null }, [number]>(
      'SELECT max(seq) AS seq FROM events WHERE seq <= ?',
    );
    this.#ranges = db.prepare<EventRange, []>('SELECT first, tag FROM event_ranges ORDER BY first');
    this.#marks = db.prepare<{ value: string }, [string]>('SELECT value FROM meta WHERE key = ?');
  }

  after(seq: number, limit: number): EventRecord[] {
    return this.#after.all(seq, limit);
  }

  /** Numbers of the oldest and the newest stored event; 0 if the log is empty. */
  bounds(): { oldest: number; last: number } {
    const { oldest, last } = this.#bounds.get()!;
    return { oldest: oldest ?? 0, last: last ?? 0 };
  }

  /** Returns the number of the newest event up to `seq`; 0 if there is none. */
  newestUpTo(seq: number): number {
    return this.#newestUpTo.get(seq)!.seq ?? 0;
  }

  /** Ranges in ascending order; the last one belongs to the running writer. */
  ranges(): EventRange[] {
    return this.#ranges.all();
  }

  /**
   * Returns the events of the mempool that ended before the range that begins with `first`. Where that is unknown, all
   * numbers before it count as events.
   */
  endedBefore(first: number): EndedEvents {
    const known = this.#value<EndedEvents & { readonly first: number }>(ENDED_KEY);
    return known?.first === first ? known : allBefore(first);
  }

  /** Returns the highest number that was given in the range that begins with `first`; null if it is unknown. */
  highestIn(first: number): number | null {
    return this.#value<number>(highestKey(first));
  }

  #value<T>(key: string): T | null {
    const row = this.#marks.get(key);
    return row && (JSON.parse(String(row.value)) as T);
  }
}

const ENDED_KEY = 'endedEvents';
const highestKey = (first: number): string => `highestSeq:${first}`;

function allBefore(first: number): EndedEvents {
  return { last: first - 1, lastCause: first - 1, undone: null };
}

/** Write access to the event log for its single writer. */
export class EventWriter {
  readonly #db: Database;
  readonly #add;
  readonly #removeOldest;
  readonly #reserve;
  readonly #pruneRanges;
  readonly #meta: MetaWriter;
  readonly #floor: SeqFloor | null;
  #next: number;
  #reserved: number;
  #last: number;
  #rows: number;

  /**
   * Continues after all numbers that were ever reserved, so that none is issued twice even after a crash. `floor`
   * stores them outside of this database, which may be removed and created again. `mark` knows which of the reserved
   * numbers were given.
   */
  constructor(db: Database, floor: SeqFloor | null = null, mark: EventMark | null = null) {
    this.#db = db;
    this.#floor = floor;
    this.#add = db.prepare('INSERT INTO events (seq, type, data) VALUES (?, ?, ?)');
    this.#removeOldest = db.prepare(
      'DELETE FROM events WHERE seq <= (SELECT seq FROM events ORDER BY seq LIMIT 1 OFFSET ? - 1)',
    );
    this.#reserve = db.prepare("INSERT OR REPLACE INTO meta (key, value) VALUES ('reservedSeq', ?)");
    const row = db.query<{ value: number }, []>("SELECT value FROM meta WHERE key = 'reservedSeq'").get();
    const stored = row?.value ?? 0;
    this.#reserved = Math.max(stored, floor?.get() ?? 0);
    // Readers use this as the upper bound of the numbers that clients may have seen.
    if (this.#reserved > stored) this.#putReserved(this.#reserved);
    floor?.raise(this.#reserved);
    this.#next = this.#reserved + 1;
    this.#last = new EventStore(db).bounds().last;
    this.#rows = keptRows(db, this.#last) ?? countRows(db);
    this.#meta = new MetaWriter(db);
    this.#pruneRanges = db.prepare(
      `DELETE FROM event_ranges WHERE first <
        (SELECT max(first) FROM event_ranges WHERE first < (SELECT min(seq) FROM events))`,
    );
    this.#beginRange(mark);
  }

  /** Number of events in the log. */
  get rows(): number {
    return this.#rows;
  }

  /** Number of the newest event; 0 if the log is empty. */
  get last(): number {
    return this.#last;
  }

  /**
   * Starts a range durably before its first number is issued: otherwise a power failure could leave the number without
   * its tag.
   */
  #beginRange(mark: EventMark | null): void {
    const store = new EventStore(this.#db);
    const ranges = store.ranges();
    const log = ranges[0]?.tag.slice(0, LOG_TAG_LENGTH) ?? randomTag(LOG_TAG_LENGTH);
    const put = this.#db.prepare<null, [number, string]>(
      'INSERT OR REPLACE INTO event_ranges (first, tag) VALUES (?, ?)',
    );
    const putMeta = this.#db.prepare<null, [string, string]>('INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)');
    const tag = () => log + randomTag(RUN_TAG_LENGTH);
    const own = tag();
    const first = this.#next;
    const { ended, highest } = endedEvents(store, ranges, first, mark);
    durably(this.#db, () =>
      this.#db.transaction(() => {
        // Range of the events that were stored before ranges existed.
        if (ranges.length === 0) put.run(0, tag());
        if (highest !== null) putMeta.run(highestKey(ranges.at(-1)!.first), JSON.stringify(highest));
        putMeta.run(ENDED_KEY, JSON.stringify({ first, ...ended }));
        put.run(first, own);
        this.#db.run(
          "DELETE FROM meta WHERE key LIKE 'highestSeq:%' AND CAST(substr(key, 12) AS INTEGER) NOT IN (SELECT first FROM event_ranges)",
        );
      })(),
    );
    put.finalize();
    putMeta.finalize();
    mark?.begin(own);
  }

  /** Reserves more numbers if the next one is not reserved yet. */
  #reserveNext(): void {
    if (this.#next <= this.#reserved) return;
    const reserved = this.#next + RESERVATION - 1;
    this.#floor?.raise(reserved);
    this.#putReserved(reserved);
    this.#reserved = reserved;
  }

  /** A power failure may undo the last commits, but never the reservation of an issued number. */
  #putReserved(reserved: number): void {
    durably(this.#db, () => void this.#reserve.run(reserved));
  }

  /**
   * Issues the next event number, for an event that is stored here or elsewhere. Must be called outside of any
   * transaction.
   */
  issueSeq(): number {
    this.#reserveNext();
    return this.#next++;
  }

  /** Stores an event with a number from `issueSeq`; `data` gets the number as its first member. */
  insertEvent(seq: number, type: string, data: object): void {
    this.#last = seq;
    this.#add.run(seq, type, JSON.stringify({ seq, ...data }));
    this.#rows++;
  }

  /** Removes all but the newest `keep` events and stores their number. Reads only those that it removes. */
  prune(keep: number): void {
    const excess = this.#rows - keep;
    if (excess > 0) {
      this.#rows -= this.#removeOldest.run(excess).changes;
      this.#pruneRanges.run();
    }
    this.#meta.put('eventRows', this.#rows);
    this.#meta.put('eventRowsUpTo', this.#last);
  }
}

/**
 * Removes the log and its numbers from a copy of the database, which then begins a log of its own. The bytes are overwritten:
 * SQLite would keep them in free pages.
 */
export function removeEventLog(copy: Database): void {
  copy.run('PRAGMA secure_delete = ON');
  copy.transaction(() => {
    copy.run('DELETE FROM events');
    copy.run('DELETE FROM event_ranges');
    copy
      .query(
        "DELETE FROM meta WHERE key IN ('reservedSeq', 'eventRows', 'eventRowsUpTo', ?) OR key LIKE 'highestSeq:%'",
      )
      .run(ENDED_KEY);
  })();
}

const RESERVATION = 10_000;

/** Lengths of the parts of a tag: the first identifies the log, the second the run of the writer. */
export const LOG_TAG_LENGTH = 4;
const RUN_TAG_LENGTH = 4;

/** Returns the tag of a log whose numbers are all of one range. */
export function randomLogTag(): string {
  return randomTag(LOG_TAG_LENGTH + RUN_TAG_LENGTH);
}

/** Returns another tag of the same log: cursors with the former one name another history. */
export function nextLogTag(tag: string): string {
  return tag.slice(0, LOG_TAG_LENGTH) + randomTag(RUN_TAG_LENGTH);
}

/** Returns random digits and lower-case letters. */
function randomTag(length: number): string {
  return randomInt(36 ** length)
    .toString(36)
    .padStart(length, '0');
}

/**
 * Returns the number of events that was stored with the newest one; null if it was stored with another event, or never.
 */
function keptRows(db: Database, last: number): number | null {
  const meta = new MetaStore(db);
  return meta.get('eventRowsUpTo') === last ? meta.get('eventRows') : null;
}

/**
 * Counts the events by reading all pages of the table: a tenth of a second for a full log, seconds from a slow disk.
 */
function countRows(db: Database): number {
  return db.query<{ rows: number }, []>('SELECT count(*) AS rows FROM events').get()!.rows;
}

/**
 * Returns the events of the mempool that ended before the number `first`, and the highest number of the last run; null if
 * it is unknown.
 */
function endedEvents(
  store: EventStore,
  ranges: readonly EventRange[],
  first: number,
  mark: EventMark | null,
): { readonly ended: EndedEvents; readonly highest: number | null } {
  const [before, last] = [ranges.at(-2), ranges.at(-1)];
  if (!last || !mark) return { ended: allBefore(first), highest: null };
  const earlier = store.endedBefore(last.first);
  // A run that died before it began its mark has given no number.
  const given = mark.read(last.tag) ?? (before && mark.isNewest(before.tag) ? NONE_GIVEN : null);
  if (!given) return { ended: allBefore(first), highest: null };
  const highest = Math.max(given.highest, given.last, store.bounds().last, last.first - 1);
  const { last: toSeq, unsavedFrom: fromSeq } = given;
  const ended = {
    last: Math.max(toSeq, earlier.last),
    lastCause: Math.max(given.lastCause, earlier.lastCause),
    undone: fromSeq > 0 ? withUndone(earlier.undone, { fromSeq, toSeq, floor: first - 1 }) : earlier.undone,
  };
  return { ended, highest };
}

/** A client can have missed the events of several kills: they become one. */
function withUndone(earlier: UndoneEvents | null, { fromSeq, toSeq, floor }: UndoneEvents): UndoneEvents {
  if (!earlier) return { fromSeq, toSeq, floor };
  return {
    fromSeq: Math.min(earlier.fromSeq, fromSeq),
    toSeq: Math.max(earlier.toSeq, toSeq),
    floor: Math.max(earlier.floor, floor),
  };
}
