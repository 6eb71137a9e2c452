import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCHEMA } from '../../src/storage/chain-schema.ts';
import { EventMark, NONE_GIVEN } from '../../src/storage/event-mark.ts';
import { EventStore, EventWriter } from '../../src/storage/event-store.ts';

const GIVEN = { last: 7, lastCause: 5, highest: 8, unsavedFrom: 0 };
const ALL = { last: 10_000, lastCause: 10_000, undone: null };

let dir = '';
let path = '';
let db: Database;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'event-mark-'));
  path = join(dir, 'events.mark');
  db = new Database(':memory:');
  db.run(SCHEMA);
});

afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true, force: true });
});

/** Starts a writer, which gives these numbers, and ends it as `end` says: killed by default. */
function run(given = NONE_GIVEN, end: 'well' | 'killed' = 'killed'): void {
  using mark = new EventMark(path);
  const writer = new EventWriter(db, null, mark);
  for (let seq = writer.issueSeq(); seq % 10_000 < given.highest % 10_000; ) seq = writer.issueSeq();
  if (end === 'well') mark.end(given);
  else mark.record(given);
}

/** The events that ended before the present run, as a reader finds them. */
function ended() {
  const store = new EventStore(db);
  const { last, lastCause, undone } = store.endedBefore(store.ranges().at(-1)!.first);
  return { last, lastCause, undone };
}

/** The system starts anew: the id of the boot is another one. */
function reboot(): void {
  const bytes = readFileSync(path);
  bytes[10]! ^= 1;
  writeFileSync(path, bytes);
}

function copyMark(): void {
  copyFileSync(path, `${path}.copy`);
  renameSync(`${path}.copy`, path);
}

/** Limits the size to which this process can write a file. */
function limitFiles(size: string): void {
  const { exitCode } = Bun.spawnSync(['prlimit', `--pid=${process.pid}`, `--fsize=${size}:`]);
  if (exitCode !== 0) throw new Error('prlimit failed');
}

function targetOf(fd: string): string | null {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null;
  }
}

/** Restores an older state of the file in place, so that its index stays. */
async function restoreInPlace(): Promise<void> {
  const bytes = readFileSync(path);
  // The content of a copy is older than the restored file; the clock of the file system shows that.
  await until(() => Date.now() > bytes.readDoubleLE(bytes.length - 16) + 200);
  writeFileSync(path, bytes);
}

async function until(isMet: () => boolean): Promise<void> {
  while (!isMet()) await new Promise(setImmediate);
}

function changeTag(): void {
  db.run("UPDATE event_ranges SET tag = 'abcdefgh' WHERE first > 0");
}

describe('the numbers that a run has given', () => {
  test('are known after it was killed and after it has ended well', () => {
    for (const end of ['killed', 'well'] as const) {
      run(GIVEN, end);
      run();
      expect(ended()).toMatchObject({ last: 7, lastCause: 5, undone: null });
      rmSync(path);
      db.run('DELETE FROM event_ranges');
      db.run('DELETE FROM meta');
    }
  });

  test('are those of the events that ended last, over runs that have given none', () => {
    run(GIVEN);
    run();
    run({ ...NONE_GIVEN, highest: 10_002 }, 'well');
    run();
    expect(ended()).toMatchObject({ last: 7, lastCause: 5 });
    run({ ...GIVEN, last: 40_003, lastCause: 0, highest: 40_004 });
    run();
    expect(ended()).toMatchObject({ last: 40_003, lastCause: 5 });
  });

  test('are known where a start died before it wrote its file', () => {
    run(GIVEN);
    linkSync(path, `${path}.old`);
    new EventWriter(db, null, new EventMark(path));
    renameSync(`${path}.old`, path);
    run();
    expect(ended()).toMatchObject({ last: 7, lastCause: 5 });
  });

  test('name the transactions that each of several kills has removed', () => {
    run({ ...GIVEN, unsavedFrom: 4 });
    run();
    const undone = { fromSeq: 4, toSeq: 7, floor: 10_000 };
    expect(ended()).toMatchObject({ last: 7, undone });
    run(undefined, 'well');
    run();
    expect(ended()).toMatchObject({ last: 7, undone });
    const first = new EventStore(db).ranges().at(-1)!.first;
    run({ last: first + 13_000, lastCause: first + 13_000, highest: first + 13_000, unsavedFrom: first + 12_000 });
    run();
    const floor = new EventStore(db).ranges().at(-1)!.first - 1;
    expect(ended().undone).toEqual({ fromSeq: 4, toSeq: first + 13_000, floor });
  });

  test.each([
    ['the system has started anew', reboot],
    ['the file is missing', () => rmSync(path)],
    ['the file is a copy', copyMark],
    ['an older copy was written over the file', restoreInPlace],
    ['the file is cut short', () => writeFileSync(path, readFileSync(path).subarray(0, 60))],
    ['the file is of another run', changeTag],
  ])('are all reserved ones where %s', async (_, happen) => {
    run(GIVEN);
    await happen();
    run();
    const { last } = ended();
    expect(last % 10_000).toBe(0);
    expect(ended()).toEqual({ ...ALL, last, lastCause: last });
  });

  test('are all reserved ones in a copy of a running node whose file is older than its database', () => {
    run(GIVEN, 'well');
    // The copy has this file, and the database of the run that began while it was made.
    linkSync(path, `${path}.copied`);
    run({ ...GIVEN, last: 10_009, lastCause: 10_009, highest: 10_009 });
    copyFileSync(`${path}.copied`, path);
    run();
    expect(ended()).toEqual({ last: 20_000, lastCause: 20_000, undone: null });
  });

  test('are all reserved ones where the file could not be written, until it can be', () => {
    using mark = new EventMark(path);
    mark.begin('abcdefgh');
    mark.record(GIVEN);
    const ignore = () => {};
    process.on('SIGXFSZ', ignore);
    try {
      limitFiles('0');
      mark.record({ ...GIVEN, last: 9 });
    } finally {
      limitFiles('unlimited');
      process.off('SIGXFSZ', ignore);
    }
    expect(existsSync(path)).toBe(true);
    expect(new EventMark(path).read('abcdefgh')).toBeNull();
    mark.record({ ...GIVEN, last: 10, highest: 10 });
    expect(new EventMark(path).read('abcdefgh')).toMatchObject({ last: 10 });
  });

  test('are an error where the file can be neither written nor made invalid, so that the events are not delivered', () => {
    const mark = new EventMark(path);
    mark.begin('abcdefgh');
    const descriptor = readdirSync('/proc/self/fd').find((fd) => targetOf(fd) === path);
    closeSync(Number(descriptor));
    rmSync(path);
    mkdirSync(path);
    expect(() => mark.record(GIVEN)).toThrow('neither written nor removed');
  });

  test('are valid at any boot and in a copy after a run that has ended well', () => {
    run(GIVEN, 'well');
    reboot();
    copyMark();
    run();
    expect(ended()).toMatchObject({ last: 7, lastCause: 5 });
  });

  test('are those of a file of an earlier build after a run that has ended well, and all reserved ones after a kill', () => {
    for (const [end, expected] of [
      ['well', { last: 7, lastCause: 5, undone: null }],
      ['killed', ALL],
    ] as const) {
      run(GIVEN, end);
      // Without the time of writing, which comes before the last number.
      const bytes = readFileSync(path);
      writeFileSync(path, Buffer.concat([bytes.subarray(0, -16), bytes.subarray(-8)]));
      expect(readFileSync(path)).toHaveLength(96);
      run();
      expect(ended()).toMatchObject(expected);
      rmSync(path);
      db.run('DELETE FROM event_ranges');
      db.run('DELETE FROM meta');
    }
  });

  test('are in a file that only its owner can read, and no longer change after the end', () => {
    using mark = new EventMark(path);
    mark.begin('abcdefgh');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    mark.end(GIVEN);
    mark.record({ ...GIVEN, last: 100 });
    expect(new EventMark(path).read('abcdefgh')).toEqual(GIVEN);
    expect(existsSync(`${path}.new`)).toBe(false);
  });
});
