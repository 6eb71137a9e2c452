import type { Database } from 'bun:sqlite';
import { randomInt } from 'node:crypto';
import { durably } from './database.ts';
import { MetaStore, MetaWriter } from './meta-store.ts';
import type { SeqFloor } from './seq-floor.ts';

/** One event of the log; `data` is the JSON text of its payload, `seq` and `time` included. */
export interface EventRecord {
  readonly seq: number;
  readonly type: string;
  readonly data: string;
}

/** Numbers from `first` on belong to one run of a writer, as far as the next range; `tag` names log and run. */
export interface EventRange {
  readonly first: number;
  readonly tag: string;
}

/** The event log, for reading. */
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

  /** Sequence numbers of the oldest and the newest event kept; 0 where the log is empty. */
  bounds(): { oldest: number; last: number } {
    const { oldest, last } = this.#bounds.get()!;
    return { oldest: oldest ?? 0, last: last ?? 0 };
  }

  /** Sequence number of the newest event up to a number; 0 where there is none. */
  newestUpTo(seq: number): number {
    return this.#newestUpTo.get(seq)!.seq ?? 0;
  }

  /** In ascending order; the last one holds the numbers that the present writer gives. */
  ranges(): EventRange[] {
    return this.#ranges.all();
  }
}

/** The event log, for the one writer. */
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
   * Goes on behind the numbers that were ever reserved, so that none is given twice even after a crash. `floor` keeps them
   * outside of this database, which may be removed and made again.
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
    // Readers take this for the end of the numbers that clients may have seen.
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

  /** How many events the log holds. */
  get rows(): number {
    return this.#rows;
  }

  /** The newest number in the log; 0 where it is empty. */
  get last(): number {
    return this.#last;
  }

  /** Durable before the first number of the range is given: otherwise a power cut could leave the number without its tag. */
  #beginRange(): void {
    const [oldest] = new EventStore(this.#db).ranges();
    const log = oldest?.tag.slice(0, LOG_TAG_LENGTH) ?? randomTag(LOG_TAG_LENGTH);
    const put = this.#db.prepare<null, [number, string]>(
      'INSERT OR REPLACE INTO event_ranges (first, tag) VALUES (?, ?)',
    );
    const tag = () => log + randomTag(RUN_TAG_LENGTH);
    durably(this.#db, () =>
      this.#db.transaction(() => {
        // What was written before there were ranges.
        if (!oldest) put.run(0, tag());
        put.run(this.#next, tag());
      })(),
    );
    put.finalize();
  }

  /** Makes sure that a number can be given. */
  #reserveNext(): void {
    if (this.#next <= this.#reserved) return;
    const reserved = this.#next + RESERVATION - 1;
    this.#floor?.raise(reserved);
    this.#putReserved(reserved);
    this.#reserved = reserved;
  }

  /** A power cut may take back the last commits, but never a number that was issued. */
  #putReserved(reserved: number): void {
    durably(this.#db, () => void this.#reserve.run(reserved));
  }

  /** The next number of the sequence, for an event that is kept here or elsewhere; outside of any transaction. */
  take(): number {
    this.#reserveNext();
    return this.#next++;
  }

  /** Writes one event under a number that was taken for it; `data` gets it as its first member. */
  add(seq: number, type: string, data: object): void {
    this.#last = seq;
    this.#add.run(seq, type, JSON.stringify({ seq, ...data }));
    this.#rows++;
  }

  /** Keeps the newest `keep` events, and notes how many there are. Looks at those alone that it removes. */
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

/** Of a range's tag, the characters that name the log, and those that name the writer's run. */
export const LOG_TAG_LENGTH = 4;
const RUN_TAG_LENGTH = 4;

/** Digits and lower-case letters. */
function randomTag(length: number): string {
  return randomInt(36 ** length)
    .toString(36)
    .padStart(length, '0');
}

/** How many there are as it was noted with the newest event; null where none was, or by a version that does not. */
function keptRows(db: Database, last: number): number | null {
  const meta = new MetaStore(db);
  return meta.get('eventRowsUpTo') === last ? meta.get('eventRows') : null;
}

/** Reads all pages of the table: a tenth of a second where the log is full, and seconds from a slow disk. */
function countRows(db: Database): number {
  return db.query<{ rows: number }, []>('SELECT count(*) AS rows FROM events').get()!.rows;
}
