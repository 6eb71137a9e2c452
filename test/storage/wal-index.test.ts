import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { WalIndex } from '../../src/storage/wal-index.ts';

const linux = test.if(process.platform === 'linux');

let dir: string;
let path: string;
let writer: Database;
let reader: Database;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-wal-index-'));
  path = join(dir, 'chain.db');
  writer = new Database(path);
  writer.run('PRAGMA journal_mode = WAL');
  writer.run('CREATE TABLE numbers (number INTEGER)');
  reader = new Database(path, { readonly: true });
  dataVersion();
});

afterEach(() => {
  reader.close();
  writer.close();
  rmSync(dir, { recursive: true, force: true });
});

function dataVersion(): number {
  return reader.query<{ data_version: number }, []>('PRAGMA data_version').get()!.data_version;
}

function insert(): void {
  writer.run('INSERT INTO numbers VALUES (1)');
}

linux('a mark ends with a commit, and not with a rollback', () => {
  const index = WalIndex.map(path)!;
  const mark = index.mark();
  expect(index.isAt(mark)).toBe(true);
  writer.run('BEGIN');
  insert();
  expect(index.isAt(mark)).toBe(true);
  writer.run('ROLLBACK');
  expect(index.isAt(mark)).toBe(true);
  insert();
  expect(index.isAt(mark)).toBe(false);
  expect(index.isAt(index.mark())).toBe(true);
  index.close();
});

linux('a commit of another process ends a mark', () => {
  const index = WalIndex.map(path)!;
  const mark = index.mark();
  const commit = `new (require('bun:sqlite').Database)(${JSON.stringify(path)}).run('INSERT INTO numbers VALUES (2)')`;
  expect(Bun.spawnSync([process.execPath, '-e', commit]).exitCode).toBe(0);
  expect(index.isAt(mark)).toBe(false);
  index.close();
});

linux('a mark never outlasts a change of the data', () => {
  const steps = {
    commit: insert,
    'two commits': () => [insert(), insert()],
    rollback: () => [writer.run('BEGIN'), insert(), writer.run('ROLLBACK')],
    'commit with a checkpoint': () => [insert(), writer.run('PRAGMA wal_checkpoint(TRUNCATE)')],
    checkpoint: () => writer.run('PRAGMA wal_checkpoint(RESTART)'),
    vacuum: () => writer.run('VACUUM'),
    nothing: () => {},
  };
  const index = WalIndex.map(path)!;
  const step = fc.constantFrom(...Object.values(steps));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (run) => {
      for (const change of run) {
        const before = dataVersion();
        const mark = index.mark();
        change();
        const isSame = index.isAt(mark);
        if (dataVersion() !== before) expect(isSame).toBe(false);
      }
    }),
    { numRuns: 50 },
  );
  index.close();
});

linux('the locks of SQLite stay when the index is closed', () => {
  const locks = () => {
    const inode = statSync(`${path}-shm`).ino;
    const lines = readFileSync('/proc/locks', 'utf8').split('\n');
    return lines.filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${inode} `)).length;
  };
  expect(locks()).toBeGreaterThan(0);
  const before = locks();
  WalIndex.map(path)!.close();
  expect(locks()).toBe(before);
});

test('a database that this process has not opened has no index', () => {
  expect(WalIndex.map(join(dir, 'other.db'))).toBeNull();
});
