import { expect, test } from 'bun:test';
import { UploadTarget } from '../../../src/p2p/connections/net-totals.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { DAY, HOUR, NOW } from '../address/addr-fixture.ts';

const MIB = 1_048_576;

function fixture(mebibytes: number) {
  const clock = new ManualClock(NOW * 1000);
  const target = new UploadTarget(clock, mebibytes);
  return { target, pass: (seconds: number) => clock.advance(seconds * 1000) };
}

test('without a limit the target is never reached', () => {
  const { target } = fixture(0);
  target.sent(10 ** 15);
  expect([target.isReached(false), target.isReached(true), target.bytesLeft, target.secondsLeft]).toEqual([
    false,
    false,
    0,
    0,
  ]);
});

test('new blocks are sent until the limit, historical ones until only the reserve for new blocks is left', () => {
  // A day of blocks is 144 times 4 MB: 576 MB.
  const { target, pass } = fixture(800);
  expect([target.isReached(true), target.secondsLeft]).toEqual([false, DAY]);
  target.sent(800 * MIB - 576_000_000 - 1);
  expect(target.isReached(true)).toBe(false);
  target.sent(1);
  expect([target.isReached(true), target.isReached(false)]).toEqual([true, false]);
  // Half a day later the reserve is smaller.
  pass(12 * HOUR);
  expect(target.isReached(true)).toBe(false);
  target.sent(576_000_000);
  expect([target.isReached(false), target.bytesLeft]).toEqual([true, 0]);
});

test('a limit below the reserve serves no historical blocks', () =>
  expect(fixture(500).target.isReached(true)).toBe(true));

test('a new cycle begins with the first byte after the end of the last', () => {
  const { target, pass } = fixture(1);
  target.sent(2 * MIB);
  pass(DAY + 1);
  expect([target.isReached(false), target.secondsLeft]).toEqual([true, 0]);
  target.sent(10);
  expect([target.isReached(false), target.sentInCycle, target.secondsLeft]).toEqual([false, 10, DAY]);
});
