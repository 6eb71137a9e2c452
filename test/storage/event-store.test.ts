import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { EventStore, EventWriter } from '../../src/storage/event-store.ts';
import { SCHEMA } from '../../src/storage/schema.ts';

function emptyLog(): Database {
  const db = new Database(':memory:');
  db.run(SCHEMA);
  return db;
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
    writer.reserve(3);
    for (const type of ['a', 'b', 'c']) writer.add(type, { of: type });
    const store = new EventStore(db);
    expect(store.after(1, 1)).toEqual([{ seq: 2, type: 'b', data: '{"seq":2,"of":"b"}' }]);
    expect(store.after(0, 10).map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(store.after(3, 10)).toEqual([]);
    expect(store.bounds()).toEqual({ oldest: 1, last: 3 });
  });

  test('keeps the newest when it is pruned', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    writer.reserve(20);
    for (let i = 1; i <= 20; i++) writer.add('a', {});
    writer.prune(30);
    expect(new EventStore(db).bounds()).toEqual({ oldest: 1, last: 20 });
    writer.prune(5);
    expect(new EventStore(db).bounds()).toEqual({ oldest: 16, last: 20 });
    // Numbers have gaps after a restart: what counts is how many are kept.
    const next = new EventWriter(db);
    next.reserve(1);
    expect(next.add('a', {})).toBeGreaterThan(20);
    next.prune(5);
    expect(new EventStore(db).after(0, 100)).toHaveLength(5);
    expect(new EventStore(db).bounds().oldest).toBe(17);
  });

  test('a number that was reserved is never given by the next writer', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    writer.reserve(1);
    const given: number[] = [];
    // Written in a transaction that a power cut takes back.
    db.run('BEGIN');
    for (let i = 0; i < 10; i++) given.push(writer.add('a', {}));
    db.run('ROLLBACK');
    const next = new EventWriter(db);
    next.reserve(1);
    expect(next.add('a', {})).toBeGreaterThan(given.at(-1)!);
  });

  test('more than one reservation in one commit', () => {
    const db = emptyLog();
    const writer = new EventWriter(db);
    writer.reserve(25_000);
    let last = 0;
    for (let i = 0; i < 25_000; i++) last = writer.add('a', {});
    expect(last).toBe(25_000);
    const next = new EventWriter(db);
    next.reserve(1);
    expect(next.add('a', {})).toBeGreaterThan(25_000);
  });
});
