import { expect, test } from 'bun:test';
import { verificationProgress } from '../../src/node/verification-progress.ts';

const params = {
  chainTxData: { time: 1_000_000, count: 1000, rate: 0.5 },
  consensus: { powTargetSpacing: 600 } as never,
};
const NOW = 1_100_000;

test('below the known block, progress is the share of all estimated transactions', () => {
  // There are 1,000 transactions up to the known block, and 50,000 since.
  expect(verificationProgress({ time: 500_000, txs: 510, ahead: 9 }, params, NOW)).toBe(0.01);
});

test('above the known block, progress includes the estimated transactions since the tip', () => {
  expect(verificationProgress({ time: NOW - 20_000, txs: 30_000, ahead: 33 }, params, NOW)).toBe(0.75);
});

// Progress is exactly 1 with a recent tip and no header ahead, whatever its timestamp.
test('for a tip of the last two hours, progress follows from the headers ahead', () => {
  expect(verificationProgress({ time: NOW - 7200, txs: 30_000, ahead: 0 }, params, NOW)).toBe(1);
  expect(verificationProgress({ time: NOW + 7200, txs: 30_000, ahead: 100 }, params, NOW)).toBe(0.5);
  expect(verificationProgress({ time: NOW - 7201, txs: 30_000, ahead: 0 }, params, NOW)).toBeLessThan(0.9);
});
