import { expect, test } from 'bun:test';
import { ReplacementHistory } from '../../src/mempool/replacement-history.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const DAY_MS = 24 * 3600 * 1000;

function txid(n: number): Txid {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(0, n);
  return bytes as Txid;
}

const replaced = (n: number, by: number) => ({ txid: txid(n), replacedBy: txid(by), fee: n, vsize: 100, time: 5 });

test('a replacement is found from both sides for a day', () => {
  const clock = new ManualClock(1_700_000_000_000);
  const history = new ReplacementHistory(clock);
  history.add(replaced(1, 3));
  clock.advance(DAY_MS / 2);
  history.add(replaced(2, 3));
  expect(history.get(txid(1))).toMatchObject({ replacedBy: txid(3), fee: 1, replacedAt: 1_700_000_000 });
  expect(history.get(txid(3))).toBeNull();
  expect(history.replacedBy(txid(3)).map(({ fee }) => fee)).toEqual([1, 2]);
  clock.advance(DAY_MS / 2);
  expect(history.get(txid(1))).toBeNull();
  expect(history.replacedBy(txid(3)).map(({ fee }) => fee)).toEqual([2]);
});

test('a transaction that comes back was not replaced', () => {
  const history = new ReplacementHistory(new ManualClock(1_700_000_000_000));
  history.add(replaced(1, 2));
  history.forget(txid(1));
  expect([history.get(txid(1)), history.replacedBy(txid(2))]).toEqual([null, []]);
  history.add(replaced(2, 1));
  history.add(replaced(1, 4));
  history.add(replaced(1, 5));
  expect([history.replacedBy(txid(4)), history.replacedBy(txid(5)).length]).toEqual([[], 1]);
});

test('the oldest replacements are dropped at 50,000', () => {
  const history = new ReplacementHistory(new ManualClock(1_700_000_000_000));
  for (let n = 1; n <= 50_010; n++) history.add(replaced(n, 100_000));
  expect(history.replacedBy(txid(100_000))).toHaveLength(50_000);
  expect([history.get(txid(10)), history.get(txid(11))?.fee]).toEqual([null, 11]);
});

test('all replaced transactions are found from any of them, newest first, and a list that is cut says so', () => {
  const clock = new ManualClock(1_700_000_000_000);
  const history = new ReplacementHistory(clock);
  for (let n = 1; n < 150; n++) {
    clock.advance(1000);
    history.add(replaced(n, n + 1));
  }
  for (const n of [1, 77, 150]) expect(history.newestOf(txid(n))).toEqual(txid(150));
  expect(history.newestOf(txid(999))).toEqual(txid(999));
  const cut = history.replacedThrough(txid(150), 100);
  expect(cut.items.map(({ fee }) => fee)).toEqual(Array.from({ length: 100 }, (_, i) => 149 - i));
  expect(cut.isTruncated).toBe(true);
  const whole = history.replacedThrough(txid(100), 99);
  expect([whole.items.length, whole.isTruncated]).toEqual([99, false]);
  // Many at once, of which a breadth-first list would miss the newest.
  history.add(replaced(1000, 2000));
  clock.advance(5000);
  history.add(replaced(1001, 1000));
  expect(history.replacedThrough(txid(2000), 1).items[0]!.txid).toEqual(txid(1001));
});
