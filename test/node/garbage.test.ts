import { expect, test } from 'bun:test';
import { GarbageCollector, type GarbageDeps } from '../../src/node/garbage.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const MEGABYTE = 1_000_000;

/** Returns a process whose collections take `takesMs`. */
function machine({ takesMs = 10, ...limits }: Partial<GarbageDeps> & { takesMs?: number } = {}) {
  const clock = new ManualClock(0);
  const state = { live: 100 * MEGABYTE, garbage: 0, collections: 0 };
  const garbage = new GarbageCollector({
    ...limits,
    clock,
    used: () => state.live + state.garbage,
    collect: () => {
      clock.advance(takesMs);
      state.garbage = 0;
      state.collections++;
    },
  });
  const look = (ms = 50) => {
    clock.advance(ms);
    garbage.collectIfGrown();
    return state.collections;
  };
  return { state, look };
}

test('no collection happens while memory hardly grows', () => {
  const { state, look } = machine();
  for (let i = 0; i < 1000; i++) {
    state.garbage = (i % 20) * MEGABYTE;
    look();
  }
  expect(state.collections).toBe(0);
});

test('garbage stays below a limit at any rate of allocation', () => {
  const { state, look } = machine();
  let most = 0;
  for (let i = 0; i < 1000; i++) {
    state.garbage += 10 * MEGABYTE;
    most = Math.max(most, state.garbage);
    look();
  }
  expect(most).toBeLessThan(60 * MEGABYTE);
});

test('objects that were alive at the first collection are collected by a later one', () => {
  const { state, look } = machine();
  state.live = 150 * MEGABYTE;
  expect(look()).toBe(1);
  state.live = 100 * MEGABYTE;
  state.garbage = 50 * MEGABYTE;
  for (let i = 0; i < 10; i++) look(1000);
  expect(state.collections).toBe(3);
  expect(state.garbage).toBe(0);
});

test('memory that stays in use does not trigger collections', () => {
  const { state, look } = machine();
  state.live = 1000 * MEGABYTE;
  for (let i = 0; i < 1000; i++) look();
  expect(state.collections).toBe(3);
});

test('slow collections are further apart unless memory grows urgently', () => {
  const { state, look } = machine({ takesMs: 1000 });
  state.garbage = 30 * MEGABYTE;
  expect(look()).toBe(1);
  for (let i = 0; i < 70; i++) {
    state.garbage = 30 * MEGABYTE;
    look();
  }
  expect(state.collections).toBe(1);
  state.garbage = 50 * MEGABYTE;
  expect(look()).toBe(2);
});

test('with a larger growth and without follow-ups, one collection happens for each growth', () => {
  const { state, look } = machine({ growthBytes: 128 * MEGABYTE, followUpMs: [] });
  state.garbage = 120 * MEGABYTE;
  expect(look(5000)).toBe(0);
  state.garbage = 140 * MEGABYTE;
  expect(look(5000)).toBe(1);
  for (let i = 0; i < 10; i++) look(5000);
  expect(state.collections).toBe(1);
});
