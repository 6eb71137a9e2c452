import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BackgroundMerges } from '../../../src/storage/runs/background-merges.ts';
import { mergeRuns } from '../../../src/storage/runs/merge-runs.ts';
import { createLog, type Log } from '../../../src/util/log.ts';
import { ChangeSource, liveState, StoreOfRuns } from '../../lib/run-chain.ts';

let dir: string;
let log: Log;
let logged: () => string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-merges-'));
  // Lines are written later, so each test has a log of its own.
  let text = '';
  const write = (bytes: Uint8Array) => {
    text += new TextDecoder().decode(bytes);
    return bytes.length;
  };
  log = createLog({ level: 'debug', format: 'json', write });
  logged = () => text;
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Too many for a merge within the commit. */
const ENTRIES = 20;

describe('merges in the background', () => {
  test('run one after another beside commits, and leave the same state', async () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(1);
    let running = 0;
    const merges = new BackgroundMerges(
      runs.store,
      async (job) => {
        expect(++running).toBe(1);
        await new Promise(setImmediate);
        running--;
        return mergeRuns(job);
      },
      log,
    );
    for (let commit = 0; commit < 40; commit++) {
      runs.commit(source.next(ENTRIES, true));
      merges.schedule();
      await new Promise(setImmediate);
    }
    while (logged().split('runs merged').length < 5) await new Promise(setImmediate);
    expect(merges.behind).toBe(false);
    await merges.caughtUp();
    expect(liveState(runs.store)).toEqual(source.state());
    merges.close();
    runs.close();
  });

  test('are tried again after a failure of the disk, and end after any other one', async () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(3);
    const failures = ['ENOSPC: no space left on device, write', 'ENOSPC: no space left on device, write', 'damaged'];
    let attempts = 0;
    const merges = new BackgroundMerges(
      runs.store,
      async (job) => {
        attempts++;
        const failure = attempts === 3 ? undefined : failures.shift();
        if (failure !== undefined) throw new Error(failure);
        return mergeRuns(job);
      },
      log,
      0,
    );
    for (let commit = 0; commit < 60; commit++) {
      runs.commit(source.next(ENTRIES, true));
      merges.schedule();
      await new Promise(setImmediate);
    }
    expect(attempts).toBe(4);
    expect(logged().split('merging of runs stopped, and is tried again').length - 1).toBe(2);
    expect(logged().split('runs merged').length - 1).toBe(1);
    expect(logged()).toContain('merging of runs stopped; reads become slower until the next start');
    expect(liveState(runs.store)).toEqual(source.state());
    merges.close();
    runs.close();
  });

  test('end after a failure, and a commit is refused once a family has 97 runs', async () => {
    const runs = new StoreOfRuns(dir);
    const source = new ChangeSource(2);
    let attempts = 0;
    const merges = new BackgroundMerges(
      runs.store,
      async () => {
        attempts++;
        throw new Error('no space left on device');
      },
      log,
    );
    const most = () => Math.max(...runs.store.counts().map((count) => count.runs));
    while (!merges.behind) {
      expect(most()).toBeLessThan(97);
      await merges.caughtUp();
      runs.commit(source.next(ENTRIES, true));
      merges.schedule();
    }
    expect(most()).toBe(97);
    await expect(merges.caughtUp()).rejects.toThrow('no space left on device');
    expect(attempts).toBe(1);
    expect(logged()).toContain('merging of runs stopped');
    expect(liveState(runs.store)).toEqual(source.state());
    merges.close();
    runs.close();
  });
});
