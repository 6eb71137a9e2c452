import { Database } from 'bun:sqlite';
import { type EventRecord, EventStore } from '../storage/event-store.ts';

/** The first number of a log. */
const FIRST_SEQ = 1;
/** Number of events that a window keeps, the newest ones. */
export const MAX_WINDOW_EVENTS = 50_000;
/** Events beyond the limit before the oldest are removed. */
const SURPLUS = 1000;

/**
 * The newest events of a sink in memory, in the form of a node's log. All numbers are of one range, whose tag all servers
 * of the database share: the cursors of one server are valid at each other one, and at no node.
 */
export class EventWindow implements Disposable {
  readonly events: EventStore;
  readonly #db: Database;
  readonly #add;
  readonly #removeOldest;
  #rows = 0;

  constructor(logTag: string) {
    const db = new Database(':memory:');
    db.run('CREATE TABLE events (seq INTEGER PRIMARY KEY, type TEXT NOT NULL, data TEXT NOT NULL)');
    db.run('CREATE TABLE event_ranges (first INTEGER PRIMARY KEY, tag TEXT NOT NULL)');
    db.run('CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID');
    db.run('INSERT INTO event_ranges (first, tag) VALUES (?, ?)', [FIRST_SEQ, logTag]);
    this.#db = db;
    this.#add = db.prepare<null, [number, string, string]>('INSERT INTO events (seq, type, data) VALUES (?, ?, ?)');
    this.#removeOldest = db.prepare<null, [number]>(
      'DELETE FROM events WHERE seq <= (SELECT seq FROM events ORDER BY seq LIMIT 1 OFFSET ? - 1)',
    );
    this.events = new EventStore(db);
  }

  /**
   * Adds events with higher numbers than all before; those that are there already are left out. The oldest ones beyond the
   * limit are removed.
   */
  addEvents(rows: readonly EventRecord[]): void {
    this.#db.transaction(() => {
      const { last } = this.events.bounds();
      const added = rows.filter(({ seq }) => seq > last);
      for (const { seq, type, data } of added) this.#add.run(seq, type, data);
      this.#rows += added.length;
      const excess = this.#rows - MAX_WINDOW_EVENTS;
      if (excess >= SURPLUS) this.#rows -= this.#removeOldest.run(excess).changes;
    })();
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}
