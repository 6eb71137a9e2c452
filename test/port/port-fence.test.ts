import { expect, test } from 'bun:test';
import { PortFence } from '../../src/port/port-fence.ts';

test('a wait ends when all other serving fronts have applied the push', async () => {
  const first = new PortFence(3, 0);
  const second = new PortFence(3, 1, first.shared);
  const third = new PortFence(3, 2, first.shared);
  // No other front serves yet.
  await first.reached(5);
  second.publish(4);
  third.publish(5);
  let isReached = false;
  const wait = first.reached(5).then(() => (isReached = true));
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(isReached).toBe(false);
  second.publish(5);
  await wait;
  // The own front is not waited for.
  await first.reached(5);
});

test('a front that hangs holds up a call for a second at most', async () => {
  const first = new PortFence(2, 0);
  new PortFence(2, 1, first.shared).publish(1);
  const from = performance.now();
  await first.reached(2);
  const ms = performance.now() - from;
  expect(ms).toBeGreaterThan(900);
  expect(ms).toBeLessThan(3000);
});

test('numbers wrap', async () => {
  const first = new PortFence(2, 0);
  const second = new PortFence(2, 1, first.shared);
  second.publish(-(2 ** 31));
  await first.reached(2 ** 31 - 1);
  second.publish(2 ** 31 - 1);
  let isReached = false;
  const wait = first.reached(-(2 ** 31)).then(() => (isReached = true));
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(isReached).toBe(false);
  second.publish(-(2 ** 31) + 1);
  await wait;
});
