import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StateSampler } from '../../src/node/state-sampler.ts';
import { openNodeDatabase } from '../../src/storage/node-database.ts';
import { SampleStore, type StateSample } from '../../src/storage/sample-store.ts';
import { createLog } from '../../src/util/log.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The begin of a day. */
const START = 1_700_006_400;
const IDENTITY = { network: 'regtest', genesisHash: '00'.repeat(32) };

/** Runs `work` with a sampler whose state is what `state` holds; `restart` opens the database again. */
function withSampler(work: (it: ReturnType<typeof samplerOf>) => void): void {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-samples-'));
  const it = samplerOf(join(dir, 'node.db'));
  try {
    work(it);
  } finally {
    it.close();
    rmSync(dir, { recursive: true });
  }
}

function samplerOf(path: string) {
  const clock = new ManualClock(START * 1000);
  let db = openNodeDatabase(path, IDENTITY);
  let state: StateSample = { mempoolCount: 0, mempoolVsize: 0, peers: 0 };
  const lines: string[] = [];
  const log = createLog({
    level: 'warn',
    format: 'text',
    write: (bytes) => {
      lines.push(new TextDecoder().decode(bytes));
      return bytes.length;
    },
  });
  const open = () => new StateSampler({ store: new SampleStore(db), state: () => state, clock, log });
  let sampler = open();
  return {
    clock,
    lines,
    log,
    rows: () => db.query<{ rows: number }, []>('SELECT count(*) AS rows FROM samples').get()!.rows,
    set: (mempoolCount: number) => (state = { mempoolCount, mempoolVsize: mempoolCount * 200, peers: 8 }),
    /** Takes a sample a minute. */
    run(minutes: number) {
      for (let i = 0; i < minutes; i++) {
        sampler.addSample();
        clock.advance(MINUTE * 1000);
      }
    },
    addSample: () => sampler.addSample(),
    read: (length: number | null, points = 500, series: keyof StateSample = 'mempoolCount') =>
      sampler.readSeries({ series, length, points }),
    restart() {
      db.close();
      db = openNodeDatabase(path, IDENTITY);
      sampler = open();
    },
    close: () => db.close(),
  };
}

test('samples of a minute are there after a restart, and the time without a node is a gap', () => {
  withSampler((it) => {
    it.set(3);
    it.run(3);
    it.restart();
    it.clock.advance(HOUR * 1000);
    it.set(5);
    it.run(2);
    // Intervals of three minutes, the last of which holds the present.
    expect(it.read(DAY)).toEqual({
      interval: 180,
      points: [
        [START - 60, 3],
        [START + 120, 3],
        [START + HOUR + 120, 5],
      ],
    });
    expect(it.read(null)).toEqual({
      interval: MINUTE,
      points: [0, 1, 2, 63, 64].map((minute, i) => [START + minute * MINUTE, i < 3 ? 3 : 5]),
    });
    expect(it.read(null, 500, 'peers').points.map(([, value]) => value)).toEqual([8, 8, 8, 8, 8]);
    expect(it.read(null, 500, 'mempoolVsize').points[4]).toEqual([START + 64 * MINUTE, 1000]);
  });
});

test('a point is the mean of all samples of its interval', () => {
  withSampler((it) => {
    for (const count of [1, 2, 6]) {
      it.set(count);
      it.run(1);
    }
    expect(it.read(null, 1)).toEqual({ interval: 240, points: [[START, 3]] });
    expect(it.read(null, 2)).toEqual({
      interval: 120,
      points: [
        [START, 1.5],
        [START + 120, 6],
      ],
    });
  });
});

test('older samples are kept in longer intervals, and their number is bounded', () => {
  withSampler((it) => {
    const fill = (seconds: number, step: number) => {
      for (let at = 0; at < seconds; at += step) {
        it.addSample();
        it.clock.advance(step * 1000);
      }
    };
    it.set(4);
    fill(11 * 366 * DAY, DAY);
    fill(400 * DAY, 7200);
    it.set(9);
    fill(31 * DAY, 600);
    fill(DAY, MINUTE);
    expect(it.rows()).toBeLessThan(14_000);
    const all = it.read(null);
    expect(all.interval).toBe(8 * DAY);
    expect(all.points.length).toBeLessThanOrEqual(500);
    expect(all.points.length).toBeGreaterThan(450);
    const [firstYear] = all.points;
    const now = START + (11 * 366 + 432) * DAY;
    expect(firstYear![0]).toBeGreaterThan(now - 3663 * DAY);
    for (const [length, interval] of [
      [366 * DAY - DAY, 3 * 7200 * 3],
      [30 * DAY, 5400],
      [DAY, 180],
    ] as const) {
      const { interval: found, points } = it.read(length);
      expect(points.length).toBeLessThanOrEqual(500);
      expect(found).toBeLessThanOrEqual(interval);
      expect(points.at(-1)![1]).toBe(9);
      expect(points[0]![0]).toBeGreaterThan(now - length - 7200);
    }
  });
});

test('samples of the future, which a clock that was set back leaves, are not shown and removed', () => {
  withSampler((it) => {
    it.set(1);
    it.run(5);
    it.clock.set((START - DAY) * 1000);
    expect(it.read(null)).toEqual({ interval: MINUTE, points: [] });
    it.set(2);
    it.addSample();
    expect(it.read(null)).toEqual({ interval: MINUTE, points: [[START - DAY, 2]] });
    expect(it.rows()).toBe(4);
  });
});

test('a sample that cannot be stored is logged, and the next one is taken', () => {
  withSampler((it) => {
    it.close();
    it.addSample();
    it.log.flush();
    expect(it.lines.join('')).toContain('the state of the node is not sampled for the charts');
  });
});
