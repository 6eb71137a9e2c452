import { describe, expect, test } from 'bun:test';
import { FailureTable, TokenBucket } from '../../src/auth/rate-limits.ts';
import { SharedBuckets, SharedFailures } from '../../src/auth/shared-rates.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const RATE = { perSecond: 2, burst: 10 };

describe('SharedBuckets', () => {
  test('a bucket behaves as that of one front under any sequence of costs and pauses', () => {
    const clock = new ManualClock(1_000_000);
    // A row whose time is zero is new.
    clock.advance(1000);
    const own = new TokenBucket(RATE, clock);
    const shared = new SharedBuckets().bucket('key a', RATE, clock);
    let random = 12_345;
    for (let i = 0; i < 2000; i++) {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
      const cost = 1 + (random % 14);
      expect(shared.remaining).toBe(own.remaining);
      expect(shared.resetAfter).toBe(own.resetAfter);
      expect(shared.retryAfter(cost)).toBe(own.retryAfter(cost));
      expect(shared.consume(cost)).toBe(own.consume(cost));
      clock.advance((random >>> 8) % 1500);
    }
  });

  test('two fronts take from one bucket', () => {
    const clock = new ManualClock(1_000_000);
    clock.advance(1000);
    const first = new SharedBuckets();
    const a = first.bucket('key a', RATE, clock);
    const b = new SharedBuckets(first.shared).bucket('key a', RATE, clock);
    for (let i = 0; i < RATE.burst; i++) expect((i % 2 ? a : b).consume(1)).toBe(true);
    expect([a.consume(1), b.consume(1), b.remaining]).toEqual([false, false, 0]);
    clock.advance(500);
    expect([b.consume(1), a.consume(1)]).toEqual([true, false]);
  });

  test('keys and rates have buckets of their own', () => {
    const clock = new ManualClock(1_000_000);
    const buckets = new SharedBuckets();
    expect(buckets.bucket('key a', RATE, clock).consume(10)).toBe(true);
    expect(buckets.bucket('key b', RATE, clock).remaining).toBe(10);
    expect(buckets.bucket('key a', { perSecond: 2, burst: 20 }, clock).remaining).toBe(20);
    expect(buckets.bucket('key a', RATE, clock).remaining).toBe(0);
  });

  test('a hundred thousand addresses do not empty the bucket in use', () => {
    const clock = new ManualClock(1_000_000);
    const buckets = new SharedBuckets();
    for (let i = 0; i < 100_000; i++) {
      clock.advance(1);
      buckets.bucket(`10.0.${i}`, RATE, clock).consume(1);
    }
    expect(buckets.bucket('10.0.99999', RATE, clock).remaining).toBe(9);
  });
});

describe('SharedFailures', () => {
  test('two fronts count the failures of an address together', () => {
    const clock = new ManualClock(1_000_000);
    const a = new SharedFailures(4, clock);
    const b = new SharedFailures(4, clock, a.shared);
    expect([a, b, a, b].map((each) => each.record('ip'))).toEqual([0, 0, 0, 0]);
    expect(a.record('other')).toBe(0);
    const own = new FailureTable(4, clock);
    for (let i = 0; i < 4; i++) own.record('ip');
    const waits = [a.record('ip'), own.record('ip')];
    expect(waits[0]).toBeGreaterThan(waits[1]! - 6);
    expect(waits[0]).toBeLessThanOrEqual(waits[1]!);
  });

  test('failures are forgotten after 55 to 60 seconds', () => {
    const clock = new ManualClock(1_000_000);
    const failures = new SharedFailures(2, clock);
    failures.record('ip');
    failures.record('ip');
    clock.advance(54_000);
    expect(failures.record('ip')).toBeGreaterThan(0);
    clock.advance(61_000);
    expect([failures.record('ip'), failures.record('ip')]).toEqual([0, 0]);
    expect(failures.record('ip')).toBeGreaterThan(0);
    clock.advance(600_000);
    expect(failures.record('ip')).toBe(0);
  });
});
