import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { retryPauseMs } from '../../src/webhooks/retry-pauses.ts';

test('the pause doubles from one second up to the maximum', () => {
  const pauses = Array.from({ length: 11 }, (_, i) => retryPauseMs(i + 1, 300_000, 1) / 1000);
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
});

test('the pause is between a half and the whole, and never longer than the maximum', () => {
  const chance = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1000, max: 3_600_000 }),
      chance,
      (n, max, by) => {
        const whole = Math.min(max, 1000 * 2 ** Math.min(n - 1, 40));
        const pause = retryPauseMs(n, max, by);
        expect(pause).toBeGreaterThanOrEqual(Math.floor(whole / 2));
        expect(pause).toBeLessThanOrEqual(whole);
      },
    ),
  );
});
