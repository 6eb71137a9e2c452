import { expect, test } from 'bun:test';
import { CopyPace } from '../../src/node/backup/copy-pace.ts';

const flag = () => new Int32Array(new SharedArrayBuffer(4));

test('a copy with a rate takes the time of its bytes', () => {
  const pace = new CopyPace(1000, flag());
  const from = performance.now();
  for (let i = 0; i < 10; i++) expect(pace.waitAfter(10)).toBe(true);
  expect(performance.now() - from).toBeGreaterThanOrEqual(99);
});

test('a copy without a rate does not wait', () => {
  const pace = new CopyPace(0, flag());
  const from = performance.now();
  for (let i = 0; i < 10; i++) expect(pace.waitAfter(2 ** 40)).toBe(true);
  expect(performance.now() - from).toBeLessThan(1000);
});

test('a cancelled copy ends without waiting for its rate', () => {
  const cancel = flag();
  const pace = new CopyPace(1, cancel);
  Atomics.store(cancel, 0, 1);
  const from = performance.now();
  expect(pace.waitAfter(2 ** 20)).toBe(false);
  expect(performance.now() - from).toBeLessThan(1000);
});
