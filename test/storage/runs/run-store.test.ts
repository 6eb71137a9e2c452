import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { readSnapshot } from '../../../src/storage/database.ts';
import { type MergeJob, mergeRuns } from '../../../src/storage/runs/merge-runs.ts';
import { ReaderRuns, RunFileMissing } from '../../../src/storage/runs/run-lists.ts';
import { RunManifest, runFileName, runFolder } from '../../../src/storage/runs/run-manifest.ts';
import { ChangeSource, liveState, StoreOfRuns } from '../../lib/run-chain.ts';
import { imageOf } from '../../lib/run-entries.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'obverse-runs-'))));
afterEach(() => rmSync(dir, { recursive: true }));

const files = () => readdirSync(runFolder(dir)).sort();

/** Names of the files that the database lists. */
function listed(): string[] {
  const db = new Database(join(dir, 'chain.db'), { readonly: true });
  try {
    const records = new RunManifest(db).all().filter(({ inTable }) => !inTable);
    return records.map(({ id, family }) => runFileName(id, family)).sort();
  } finally {
    db.close();
  }
}

/** Enough entries with scripts of 10,000 bytes for a run that is stored in a file. */
const LARGE = 250;

describe('a store of runs', () => {
  test('equals plain maps through commits, merges beside them, failed commits and restarts', () => {
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.record({ do: fc.constant('commit' as const), entries: fc.nat(60) }) },
      // 200 kB, so that eight of them are merged in the background to a file.
      { weight: 8, arbitrary: fc.constant({ do: 'large' as const, entries: 20 }) },
      { weight: 1, arbitrary: fc.constant({ do: 'large' as const, entries: LARGE }) },
      { weight: 3, arbitrary: fc.constantFrom({ do: 'begin' as const }, { do: 'finish' as const }) },
      { weight: 1, arbitrary: fc.constantFrom({ do: 'fail' as const }, { do: 'restart' as const }) },
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 60, size: 'max' }), fc.nat(), (steps, seed) => {
        const source = new ChangeSource(seed);
        rmSync(dir, { recursive: true });
        dir = mkdtempSync(join(tmpdir(), 'obverse-runs-'));
        let runs = new StoreOfRuns(dir);
        let job: MergeJob | null = null;
        const reader = new Database(join(dir, 'chain.db'), { readonly: true });
        const seen = new ReaderRuns(reader, dir);
        try {
          for (const one of steps) {
            if (one.do === 'commit' || one.do === 'large') runs.commit(source.next(one.entries, one.do === 'large'));
            else if (one.do === 'begin') job ??= runs.store.beginMerge();
            else if (one.do === 'finish') {
              if (job !== null) runs.store.finishMerge(mergeRuns(job));
              job = null;
            } else if (one.do === 'fail') {
              runs.store.stageBatches(new ChangeSource(seed + 1).next(LARGE, true));
              runs.store.discardStaged();
            } else {
              runs.close();
              // A merge whose result was written before the stop leaves a file that nothing lists.
              if (job !== null) mergeRuns(job);
              job = null;
              runs = new StoreOfRuns(dir);
              expect(files()).toEqual(listed());
            }
          }
          expect(liveState(runs.store)).toEqual(source.state());
          expect(readSnapshot(reader, () => liveState(seen))).toEqual(source.state());
        } finally {
          seen.close();
          reader.close();
          runs.close();
        }
        const again = new StoreOfRuns(dir);
        expect(liveState(again.store)).toEqual(source.state());
        again.close();
      }),
      { numRuns: 6 },
    );
  });

  test('keeps small runs in the database and large ones in files, whose number stays logarithmic', () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(5);
    for (let i = 0; i < 200; i++) {
      runs.commit(source.next(20, false));
      runs.merge();
    }
    expect(files()).toEqual([]);
    for (const { runs: count } of runs.store.counts()) expect(count).toBeLessThanOrEqual(7 * 3);
    for (let i = 0; i < 9; i++) {
      runs.commit(source.next(LARGE, true));
      expect(files()).toHaveLength(i + 1);
    }
    expect(runs.merge()).toBeGreaterThan(0);
    expect(liveState(runs.store)).toEqual(source.state());
    expect(listed().length).toBeLessThan(9);
    runs.close();
  });

  test('a merge whose result cannot be opened is done again', () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(8);
    const beginMerge = () => {
      for (;;) {
        runs.commit(source.next(LARGE, true));
        const job = runs.store.beginMerge();
        if (job !== null) return job;
      }
    };
    const job = beginMerge();
    const result = mergeRuns(job);
    expect(result.image).toBeNull();
    const before = files();
    const merged = join(runFolder(dir), runFileName(job.id, job.family));
    truncateSync(merged, 10);
    expect(() => runs.store.finishMerge(result)).toThrow();
    runs.store.abandonMerge();
    expect(files()).toEqual(before.filter((name) => name !== runFileName(job.id, job.family)));
    expect(liveState(runs.store)).toEqual(source.state());

    expect(runs.merge()).toBeGreaterThan(0);
    expect(liveState(runs.store)).toEqual(source.state());
    runs.close();
    const again = new StoreOfRuns(dir);
    expect(liveState(again.store)).toEqual(source.state());
    again.close();
  });

  // A commit that reports an error may be found written by the next start.
  test('the file of a merge is removed after a failed write, and stays after a failed commit', () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(11);
    const nextJob = () => {
      for (;;) {
        const job = runs.store.beginMerge();
        if (job !== null) return job;
        runs.commit(source.next(LARGE, true));
      }
    };
    const nameOf = (job: MergeJob) => runFileName(job.id, job.family);
    const written = nextJob();
    const result = mergeRuns(written);
    runs.runSql("CREATE TRIGGER fail AFTER INSERT ON runs BEGIN SELECT RAISE(ABORT, 'disk full'); END");
    expect(() => runs.store.finishMerge(result)).toThrow('disk full');
    expect(files()).not.toContain(nameOf(written));
    runs.runSql('DROP TRIGGER fail', 'PRAGMA foreign_keys = ON');
    runs.runSql('CREATE TABLE parents (id INTEGER PRIMARY KEY)');
    runs.runSql('CREATE TABLE children (id INTEGER REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)');
    runs.runSql('CREATE TRIGGER fail AFTER INSERT ON runs BEGIN INSERT INTO children VALUES (1); END');
    const committed = nextJob();
    const second = mergeRuns(committed);
    expect(() => runs.store.finishMerge(second)).toThrow('FOREIGN KEY');
    expect(files()).toContain(nameOf(committed));
    expect(liveState(runs.store)).toEqual(source.state());
    runs.runSql('DROP TRIGGER fail');
    expect(runs.merge()).toBeGreaterThan(0);
    expect(liveState(runs.store)).toEqual(source.state());
    runs.close();
    const again = new StoreOfRuns(dir);
    expect(files()).not.toContain(nameOf(committed));
    expect(liveState(again.store)).toEqual(source.state());
    again.close();
  });

  test('the counts name each family once', () => {
    const runs = new StoreOfRuns(dir);
    const names = runs.store.counts().map(({ family }) => family);
    expect(new Set(names).size).toBe(names.length);
    runs.close();
  });

  test('keeps merged files for a minute, so that a reader of an older state can open them', () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(6);
    for (let i = 0; i < 8; i++) runs.commit(source.next(LARGE, true));
    const before = source.state();
    const old = files();
    const reader = new Database(join(dir, 'chain.db'), { readonly: true });
    const late = new ReaderRuns(reader, dir);
    const seen = readSnapshot(reader, () => {
      // The snapshot begins with the first read.
      new RunManifest(reader).all();
      expect(runs.merge()).toBe(1);
      runs.commit(source.next(3, false));
      runs.clock.advance(59_999);
      runs.commit(source.next(3, false));
      expect(files()).toEqual([...old, ...listed()].sort());
      return liveState(late);
    });
    expect(seen).toEqual(before);
    runs.clock.advance(1);
    runs.commit(source.next(3, false));
    expect(files()).toEqual(listed());
    // Open files stay readable, and the next read is of the new state.
    expect(readSnapshot(reader, () => liveState(late))).toEqual(source.state());
    late.close();
    reader.close();
    runs.close();
  });

  // A read may first read headers and blocks for longer than removed files are kept.
  test('a snapshot reads a family for the first time after the files of its list were removed', () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(11);
    for (let i = 0; i < 8; i++) runs.commit(source.next(LARGE, true));
    const before = source.state();
    const old = files();
    const reader = new Database(join(dir, 'chain.db'), { readonly: true });
    const late = new ReaderRuns(reader, dir);
    const seen = readSnapshot(reader, () => {
      late.beginSnapshot();
      expect(runs.merge()).toBe(1);
      runs.clock.advance(60_000);
      runs.commit(source.next(3, false));
      for (const name of old) expect(files()).not.toContain(name);
      const state = liveState(late);
      late.endSnapshot();
      return state;
    });
    expect(seen).toEqual(before);
    late.close();
    reader.close();
    runs.close();
  });

  test('removes merged files after a minute without a commit', () => {
    jest.useFakeTimers();
    const runs = new StoreOfRuns(dir);
    try {
      const source = new ChangeSource(13);
      for (let i = 0; i < 8; i++) runs.commit(source.next(LARGE, true));
      expect(runs.merge()).toBe(1);
      const all = files();
      const pass = (ms: number) => {
        runs.clock.advance(ms);
        jest.advanceTimersByTime(ms);
      };
      pass(59_999);
      expect(files()).toEqual(all);
      pass(1);
      expect(files()).toEqual(listed());
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      runs.close();
      jest.useRealTimers();
    }
  });

  test('a snapshot that names removed files is begun again', () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(12);
    for (let i = 0; i < 8; i++) runs.commit(source.next(LARGE, true));
    const reader = new Database(join(dir, 'chain.db'), { readonly: true });
    const late = new ReaderRuns(reader, dir);
    expect(() =>
      readSnapshot(reader, () => {
        // Another read begins the snapshot, and the list is read when the files are gone.
        new RunManifest(reader).all();
        expect(runs.merge()).toBe(1);
        runs.clock.advance(60_000);
        runs.commit(source.next(3, false));
        late.beginSnapshot();
      }),
    ).toThrow(RunFileMissing);
    const seen = readSnapshot(reader, () => {
      late.beginSnapshot();
      return liveState(late);
    });
    expect(seen).toEqual(source.state());
    late.close();
    reader.close();
    runs.close();
  });

  test('removes what it does not list when it is opened, and nothing else', () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(7);
    runs.commit(source.next(LARGE, true));
    runs.close();
    const own = files();
    expect(own).toHaveLength(1);
    for (const name of ['coins-00000099.run', 'history-00000001.run', 'coins-00000098.run.index'])
      writeFileSync(join(runFolder(dir), name), 'rest of a crash');
    const again = new StoreOfRuns(dir);
    expect(files()).toEqual(own);
    expect(liveState(again.store)).toEqual(source.state());
    again.close();
  });

  // Without its descriptors the process could not open the file that it has just listed.
  test('keeps the files of a commit that succeeded even if they cannot be opened then', () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(8);
    const steps = runs.commitSteps(source.next(LARGE, true));
    for (const step of steps) if (step === 'committed') break;
    const [name] = files();
    const path = join(runFolder(dir), name!);
    renameSync(path, `${path}.away`);
    expect(() => runs.store.onCommitted()).toThrow('ENOENT');
    renameSync(`${path}.away`, path);
    // As a commit does after an error.
    runs.store.discardStaged();
    runs.close();
    const again = new StoreOfRuns(dir);
    expect(liveState(again.store)).toEqual(source.state());
    again.close();
  });
});

describe('a start', () => {
  const advice = () =>
    `run obverse reindex, or remove ${dir} and sync again; wallets and keys are stored elsewhere and are kept`;

  function spoil(change: (path: string) => void): string {
    const runs = new StoreOfRuns(dir);
    runs.commit(new ChangeSource(9).next(LARGE, true));
    runs.close();
    const path = join(runFolder(dir), files()[0]!);
    change(path);
    expect(() => new StoreOfRuns(dir)).toThrow(expect.objectContaining({ name: 'OperatorError' }));
    expect(() => new StoreOfRuns(dir)).toThrow(`: ${advice()}`);
    expect(() => new StoreOfRuns(dir)).toThrow(path);
    return path;
  }

  test('without a file that the database lists ends with advice', () => {
    const path = spoil((at) => rmSync(at));
    expect(() => new StoreOfRuns(dir)).toThrow(`the database needs ${path}, which is missing: ${advice()}`);
  });

  test('with a truncated file ends with advice', () => {
    const path = spoil((at) => truncateSync(at, 1_000_000));
    expect(() => new StoreOfRuns(dir)).toThrow(`run ${path} is damaged: ${advice()}`);
    for (const size of [0, 1, 127, 128, 4096]) {
      truncateSync(path, size);
      expect(() => new StoreOfRuns(dir)).toThrow(`run ${path} is damaged: ${advice()}`);
    }
  });

  test('with a file of a newer version names the way on, and does not advise to remove anything', () => {
    const runs = new StoreOfRuns(dir);
    runs.commit(new ChangeSource(9).next(LARGE, true));
    runs.close();
    const path = join(runFolder(dir), files()[0]!);
    const bytes = new Uint8Array(readFileSync(path));
    const footer = bytes.subarray(-128);
    footer[8] = 4;
    new DataView(footer.buffer, footer.byteOffset).setUint32(124, Bun.hash.crc32(footer.subarray(0, 124)), true);
    writeFileSync(path, bytes);
    const message = `run ${path} has format 4, made by a newer version; this version reads up to 3: run the newer one`;
    expect(() => new StoreOfRuns(dir)).toThrow(expect.objectContaining({ name: 'OperatorError', message }));
  });

  test('with a file of another family ends with advice', () => {
    const [, txIndex] = new ChangeSource(10).next(LARGE, true);
    const path = spoil((at) => writeFileSync(at, imageOf(txIndex!)));
    expect(() => new StoreOfRuns(dir)).toThrow(`run ${path} does not hold coins: ${advice()}`);
  });
});
