import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { EventStore, EventWriter } from '../../src/storage/event-store.ts';
import { SCHEMA } from '../../src/storage/schema.ts';

function emptyLog(): Database {
  const db = new Database(':memory:');
  db.run(SCHEMA);
  return db;
}

function add(writer: EventWriter, type = 'a', data: object = {}): number {
  const seq = writer.take();
  writer.add(seq, type, data);
  return seq;
}

describe('the event log', () => {
  test('is empty at first', () => {
    const db = emptyLog();
    expect(new EventStore(db).bounds()).toEqual({ oldest: 0, last: 0 });
    expect(new EventWriter(db).last).toBe(0);
  });

  test('holds events with their number first, and pages behind one', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    for (const type of ['a', 'b', 'c']) add(writer, type, { of: type });
    const store = new EventStore(db);
    expect(store.after(1, 1)).toEqual([{ seq: 2, type: 'b', data: '{"seq":2,"of":"b"}' }]);
    expect(store.after(0, 10).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(store.after(3, 10)).toEqual([]);
    expect(store.bounds()).toEqual({ oldest: 1, last: 3 });
  });

  test('keeps the newest when it is pruned', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    for (let i = 1; i <= 20; i++) add(writer);
    writer.prune(30);
    expect(new EventStore(db).bounds()).toEqual({ oldest: 1, last: 20 });
    writer.prune(5);
    expect(new EventStore(db).bounds()).toEqual({ oldest: 16, last: 20 });
    // Numbers have gaps after a restart: what counts is how many are kept.
    const next = new EventWriter(db);
    expect(add(next)).toBeGreaterThan(20);
    next.prune(5);
    expect(new EventStore(db).after(0, 100)).toHaveLength(5);
    expect(new EventStore(db).bounds().oldest).toBe(17);
  });

  test('a number that was reserved is never given by the next writer', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    const given = Array.from({ length: 10 }, () => writer.take());
    // Written in a transaction that a power cut takes back.
    db.run('BEGIN');
    for (const seq of given) writer.add(seq, 'a', {});
    db.run('ROLLBACK');
    const next = new EventWriter(db);
    expect(add(next)).toBeGreaterThan(given.at(-1)!);
  });

  test('more numbers than one reservation holds', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    let last = 0;
    for (let i = 0; i < 25_000; i++) last = add(writer);
    expect(last).toBe(25_000);
    const next = new EventWriter(db);
    expect(add(next)).toBeGreaterThan(25_000);
  });
});
