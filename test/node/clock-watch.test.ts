import { expect, test } from 'bun:test';
import { ClockWatch } from '../../src/node/clock-watch.ts';
import { TimeOffsets } from '../../src/p2p/peer/time-offsets.ts';
import { collectingLog } from '../lib/api-fixture.ts';

// As in Core: over the last 50 outbound peers, once there are five.
test('the time offset is the median over outbound peers', () => {
  const offsets = new TimeOffsets();
  for (const seconds of [100, -5, 3, 900]) offsets.add(seconds);
  expect(offsets.median).toBe(0);
  offsets.add(10);
  expect(offsets.median).toBe(10);
  offsets.add(10_000);
  // For an even number, the upper one of the two middle values counts.
  expect(offsets.median).toBe(100);
  for (let i = 0; i < 50; i++) offsets.add(-7);
  expect([offsets.count, offsets.median]).toEqual([50, -7]);
});

test('an offset above ten minutes is logged once each time it begins', () => {
  const lines: string[] = [];
  const log = collectingLog(lines);
  const watch = new ClockWatch(log);
  watch.check(600);
  expect(watch.warnings).toEqual([]);
  for (const offset of [-601, -700, 601]) watch.check(offset);
  expect(watch.warnings).toHaveLength(1);
  watch.check(0);
  expect(watch.warnings).toEqual([]);
  watch.check(700);
  log.flush();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', offset: -601 },
    { level: 'warn', offset: 700 },
  ]);
});
