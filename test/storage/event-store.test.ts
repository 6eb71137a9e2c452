import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { SCHEMA } from '../../src/storage/chain-schema.ts';
import { EventStore, EventWriter } from '../../src/storage/event-store.ts';

function emptyLog(): Database {
  const db = new Database(':memory:');
  db.run(SCHEMA);
  return db;
}

function add(writer: EventWriter, type = 'a', data: object = {}): number {
  const seq = writer.issueSeq();
  writer.insertEvent(seq, type, data);
  return seq;
}

describe('the event log', () => {
  test('is empty at first', () => {
    const db = emptyLog();
    expect(new EventStore(db).bounds()).toEqual({ oldest: 0, last: 0 });
    expect(new EventWriter(db).last).toBe(0);
  });

  test('stores events with their number first, and pages after a number', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    for (const type of ['a', 'b', 'c']) add(writer, type, { of: type });
    const store = new EventStore(db);
    expect(store.after(1, 1)).toEqual([{ seq: 2, type: 'b', data: '{"seq":2,"of":"b"}' }]);
    expect(store.after(0, 10).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(store.after(3, 10)).toEqual([]);
    expect(store.bounds()).toEqual({ oldest: 1, last: 3 });
  });

  test('keeps the newest events when it is pruned', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    for (let i = 1; i <= 20; i++) add(writer);
    writer.prune(30);
    expect(new EventStore(db).bounds()).toEqual({ oldest: 1, last: 20 });
    writer.prune(5);
    expect(new EventStore(db).bounds()).toEqual({ oldest: 16, last: 20 });
    // Numbers have gaps after a restart; pruning counts events.
    const next = new EventWriter(db);
    expect(add(next)).toBeGreaterThan(20);
    next.prune(5);
    expect(new EventStore(db).after(0, 100)).toHaveLength(5);
    expect(new EventStore(db).bounds().oldest).toBe(17);
  });

  test('never issues a number again that an earlier writer reserved', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    const given = Array.from({ length: 10 }, () => writer.issueSeq());
    // Stored in a transaction that a power failure undoes.
    db.run('BEGIN');
    for (const seq of given) writer.insertEvent(seq, 'a', {});
    db.run('ROLLBACK');
    const next = new EventWriter(db);
    expect(add(next)).toBeGreaterThan(given.at(-1)!);
  });

  test('issues more numbers than one reservation holds', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    let last = 0;
    for (let i = 0; i < 25_000; i++) last = add(writer);
    expect(last).toBe(25_000);
    const next = new EventWriter(db);
    expect(add(next)).toBeGreaterThan(25_000);
  });

  // Otherwise the next start would issue the same number for another event.
  test('does not issue numbers that could not be reserved', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    db.run('ALTER TABLE meta RENAME TO away');
    for (let tries = 0; tries < 2; tries++) expect(() => writer.issueSeq()).toThrow();
    db.run('ALTER TABLE away RENAME TO meta');
    expect(db.query('PRAGMA synchronous').get()).toEqual({ synchronous: 1 });
    const given = writer.issueSeq();
    expect(new EventWriter(db).issueSeq()).toBeGreaterThan(given);
  });

  test('is pruned in one step whatever the excess, and counts its events', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    for (let round = 1; round <= 30; round++) {
      for (let i = 0; i < round; i++) add(writer);
      writer.prune(40);
      const kept = Math.min(40, (round * (round + 1)) / 2);
      expect(writer.rows).toBe(kept);
      expect(new EventStore(db).after(0, 1000).map(({ seq }) => seq)).toEqual(
        Array.from({ length: kept }, (_, i) => writer.last - kept + 1 + i),
      );
    }
    writer.prune(0);
    expect([writer.rows, new EventStore(db).bounds().oldest]).toEqual([0, 0]);
  });

  test('is not counted again at the next start unless the stored count belongs to another log', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    for (let i = 0; i < 20; i++) add(writer);
    writer.prune(12);
    expect(new EventWriter(db).rows).toBe(12);
    // Only a writer that does not read the rows accepts this count.
    db.run("UPDATE meta SET value = 7 WHERE key = 'eventRows'");
    expect(new EventWriter(db).rows).toBe(7);
    db.run("INSERT INTO events VALUES (21, 'a', '{}')");
    expect(new EventWriter(db).rows).toBe(13);
    db.run("DELETE FROM meta WHERE key = 'eventRows'");
    expect(new EventWriter(db).rows).toBe(13);
  });
});

describe('ranges of event numbers', () => {
  const rangesOf = (db: Database) => new EventStore(db).ranges();

  test('begin with each start of a writer, which adds its own tag to that of the log', () => {
    const db = emptyLog();
    add(new EventWriter(db));
    const first = rangesOf(db);
    expect(first.map((range) => range.first)).toEqual([0, 1]);
    const next = add(new EventWriter(db));
    const both = rangesOf(db);
    expect(both.slice(0, 2)).toEqual(first);
    expect(both[2]!.first).toBe(next);
    expect(new Set(both.map(({ tag }) => tag)).size).toBe(3);
    for (const { tag } of both) expect(tag).toMatch(new RegExp(`^${first[0]!.tag.slice(0, 4)}[0-9a-z]{4}$`));
    const other = emptyLog();
    new EventWriter(other);
    expect(rangesOf(other)[0]!.tag).not.toBe(first[0]!.tag);
  });

  test('get another tag at the next start if no number was issued', () => {
    const db = emptyLog();
    new EventWriter(db);
    const [, before] = rangesOf(db);
    new EventWriter(db);
    const [, after, ...rest] = rangesOf(db);
    expect(after!.first).toBe(before!.first);
    expect(after!.tag).not.toBe(before!.tag);
    expect(rest).toEqual([]);
  });

  test('have different tags in two histories that begin with one copy', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    add(writer);
    const copy = Database.deserialize(db.serialize());
    for (let i = 0; i < 20_000; i++) add(writer);
    const restored = add(new EventWriter(copy));
    const tagAt = (of: Database, seq: number) => rangesOf(of).findLast(({ first }) => first <= seq)!.tag;
    expect(tagAt(copy, 1)).toBe(tagAt(db, 1));
    expect(tagAt(copy, restored)).not.toBe(tagAt(db, restored));
  });

  test('cover the events of an earlier version', () => {
    const db = emptyLog();
    db.run("INSERT INTO events VALUES (7, 'a', '{}')");
    db.run("INSERT INTO meta VALUES ('reservedSeq', 10000)");
    new EventWriter(db);
    expect(rangesOf(db).map(({ first }) => first)).toEqual([0, 10_001]);
  });

  test('are removed with their last event', () => {
    const db = emptyLog();
    for (let run = 0; run < 4; run++) add(new EventWriter(db));
    expect(rangesOf(db).map(({ first }) => first)).toEqual([0, 1, 10_001, 20_001, 30_001]);
    const writer = new EventWriter(db);
    add(writer);
    writer.prune(3);
    expect(new EventStore(db).bounds().oldest).toBe(20_001);
    // The oldest event is the first of its range; a client may have seen the number before it, which belongs to the
    // previous range.
    expect(rangesOf(db).map(({ first }) => first)).toEqual([10_001, 20_001, 30_001, 40_001]);
  });

  test('finds the newest event up to a number', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    for (let i = 0; i < 3; i++) add(writer);
    const store = new EventStore(db);
    expect([0, 2, 99].map((seq) => store.newestUpTo(seq))).toEqual([0, 2, 3]);
  });
});
