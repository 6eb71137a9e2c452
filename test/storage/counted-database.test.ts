import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { CountedDatabase } from '../../src/storage/counted-database.ts';
import { lockFailures } from '../../src/util/lock-failures.ts';
import { tempDir } from '../lib/node-process.ts';

/** The failures of the database `name` during `work`. */
function failuresOf(name: 'node' | 'watches', work: () => void): number {
  const before = lockFailures()[name] ?? 0;
  work();
  return (lockFailures()[name] ?? 0) - before;
}

test('each statement that fails at a lock is counted once, however it is run', () => {
  const path = join(tempDir(), 'counted.db');
  using db = new CountedDatabase(path, 'node', { readwrite: true, create: true });
  db.run('PRAGMA journal_mode = WAL');
  db.run('CREATE TABLE t (x INTEGER)');
  db.run('PRAGMA busy_timeout = 0');
  const insert = db.prepare<null, [number]>('INSERT INTO t VALUES (?)');
  const queried = () => db.query<{ x: number }, [number]>('INSERT INTO t VALUES (?) RETURNING x');
  // A statement of `query` is kept; it must not be counted twice after it was returned twice.
  expect(queried().get(1)).toEqual({ x: 1 });
  const add = (x: number) => insert.run(x);
  const ways: readonly (readonly [string, () => unknown])[] = [
    ['run', () => db.run('INSERT INTO t VALUES (2)')],
    ['prepare', () => add(3)],
    ['query get', () => queried().get(4)],
    ['query all', () => queried().all(5)],
    ['query values', () => queried().values(6)],
    ['transaction', () => db.transaction(add)(7)],
    ['immediate', () => db.transaction(add).immediate(8)],
    ['nested', () => db.transaction(() => db.transaction(add)(9))()],
  ];
  const other = new Database(path);
  other.run('BEGIN IMMEDIATE');
  for (const [name, way] of ways)
    expect([name, failuresOf('node', () => expect(way).toThrow('database is locked'))]).toEqual([name, 1]);
  expect(db.inTransaction).toBe(false);
  other.run('ROLLBACK');
  other.close();
  expect(failuresOf('node', () => ways.forEach(([, way]) => void way()))).toBe(0);
  expect(db.query('SELECT x FROM t ORDER BY x').values().flat()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('other failures are not counted, and results and arguments pass unchanged', () => {
  using db = new CountedDatabase(join(tempDir(), 'counted.db'), 'watches', { readwrite: true, create: true });
  db.run('CREATE TABLE t (x INTEGER UNIQUE, y BLOB)');
  expect(db.run('INSERT INTO t VALUES (?, ?)', [1, new Uint8Array([7])])).toMatchObject({ changes: 1 });
  const failed = failuresOf('watches', () => {
    expect(() => db.run('INSERT INTO t VALUES (1, NULL)')).toThrow('UNIQUE');
    expect(() => db.transaction(() => db.query('SELECT z FROM t').get())()).toThrow('no such column');
  });
  expect(failed).toBe(0);
  expect(db.transaction((a: number, b: number) => a + b).immediate(1, 2)).toBe(3);
  expect([...db.query('SELECT x FROM t').iterate()]).toEqual([{ x: 1 }]);
});
