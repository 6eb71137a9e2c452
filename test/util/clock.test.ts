import { expect, test } from 'bun:test';
import { acrossThreadsMs, systemClock, unixSeconds } from '../../src/util/clock.ts';
import { ManualClock } from '../lib/manual-clock.ts';

test('the manual clock moves only when it is set or advanced', () => {
  const clock = new ManualClock(1_500);
  expect([clock.nowMs(), clock.monotonicMs(), unixSeconds(clock)]).toEqual([1500, 0, 1]);
  clock.advance(600);
  expect([clock.nowMs(), clock.monotonicMs(), unixSeconds(clock)]).toEqual([2100, 600, 2]);
  clock.set(0);
  expect([clock.nowMs(), clock.monotonicMs()]).toEqual([0, 600]);
});

test('the system clock returns Unix time, and its monotonic time never decreases', () => {
  expect(Math.abs(systemClock.nowMs() - Date.now())).toBeLessThan(1000);
  const first = systemClock.monotonicMs();
  expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(first);
});

test('times across threads have one origin, whenever a thread starts', async () => {
  const worker = new Worker(new URL('./clock-worker.ts', import.meta.url));
  try {
    const before = acrossThreadsMs();
    const { promise, resolve } = Promise.withResolvers<number>();
    worker.onmessage = ({ data }: MessageEvent<number>) => resolve(data);
    worker.postMessage(null);
    const inWorker = await promise;
    // The origins are read from the host's clock, in milliseconds.
    expect(inWorker).toBeGreaterThan(before - 10);
    expect(inWorker).toBeLessThan(acrossThreadsMs() + 10);
  } finally {
    worker.terminate();
  }
});
