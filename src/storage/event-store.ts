import type { Database } from 'bun:sqlite';
import { randomInt } from 'node:crypto';
import { durably } from './database.ts';
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

/** Read access to the event log. */
export class EventStore {
  readonly #after;
  readonly #bounds;
  readonly #newestUpTo;
  readonly #ranges;

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
   * stores them outside of this database, which may be removed and created again.
   */
  constructor(db: Database, floor: SeqFloor | null = null) {
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
    this.#beginRange();
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
  #beginRange(): void {
    const [oldest] = new EventStore(this.#db).ranges();
    const log = oldest?.tag.slice(0, LOG_TAG_LENGTH) ?? randomTag(LOG_TAG_LENGTH);
    const put = this.#db.prepare<null, [number, string]>(
      'INSERT OR REPLACE INTO event_ranges (first, tag) VALUES (?, ?)',
    );
    const tag = () => log + randomTag(RUN_TAG_LENGTH);
    durably(this.#db, () =>
      this.#db.transaction(() => {
        // Range of the events that were stored before ranges existed.
        if (!oldest) put.run(0, tag());
        put.run(this.#next, tag());
      })(),
    );
    put.finalize();
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

const RESERVATION = 10_000;

/** Lengths of the parts of a tag: the first identifies the log, the second the run of the writer. */
export const LOG_TAG_LENGTH = 4;
const RUN_TAG_LENGTH = 4;

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
