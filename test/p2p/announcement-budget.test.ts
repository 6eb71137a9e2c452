import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { RelayFacts } from '../../src/mempool/relay.ts';
import { AnnouncementBudget } from '../../src/p2p/relay/announcement-budget.ts';
import type { Txid, Wtxid } from '../../src/primitives/hash.ts';

/** The id of the nth transaction. */
function wtxidOf(n: number): Wtxid {
  const bytes = new Uint8Array(32);
  new DataView(bytes.buffer).setUint32(0, n);
  return bytes as Wtxid;
}

const numberOf = (wtxid: Uint8Array) => new DataView(wtxid.buffer, wtxid.byteOffset).getUint32(0);

/** A mempool that orders by number, the highest first, and has only some of the transactions. */
function order(has: (n: number) => boolean = () => true, size = 200) {
  return (wtxids: Iterable<Wtxid>): RelayFacts[] =>
    [...wtxids]
      .filter((wtxid) => has(numberOf(wtxid)))
      .sort((a, b) => numberOf(b) - numberOf(a))
      .map((wtxid) => ({
        txid: wtxid as Uint8Array as Txid,
        wtxid,
        size,
        fee: 0,
        vsize: size,
        enteredAt: 0,
        sequence: 0,
      }));
}

function fill(budget: AnnouncementBudget, count: number, first = 0): void {
  for (let n = first; n < first + count; n++) budget.enqueue(wtxidOf(n));
}

test('a burst of 30 seconds of the rate passes at once, and the rest waits in the order of the mempool', () => {
  const budget = new AnnouncementBudget(2, 1);
  const released: number[] = [];
  for (let n = 0; n < 80; n++) {
    budget.enqueue(wtxidOf(n));
    released.push(...budget.release(1000, order()).map(numberOf));
  }
  expect(released).toEqual(Array.from({ length: 60 }, (_, n) => n));
  expect(budget.view()).toMatchObject({ backlog: 20, countTokens: 0 });
  // After half a second there is a token, and a step releases five seconds of the rate more.
  expect(budget.release(1500, order()).map(numberOf)).toEqual([79, 78, 77, 76, 75, 74, 73, 72, 71, 70, 69]);
  expect(budget.view()).toMatchObject({ backlog: 9, countTokens: -10 });
  expect(budget.release(6400, order())).toEqual([]);
  expect(budget.release(6600, order())).toHaveLength(9);
});

test('transactions that left the mempool use no tokens', () => {
  const budget = new AnnouncementBudget(2, 1);
  fill(budget, 100);
  expect(
    budget.release(
      0,
      order((n) => n % 2 === 0),
    ),
  ).toHaveLength(50);
  expect(budget.view()).toMatchObject({ backlog: 0, countTokens: 10 });
});

test('the bytes of transactions are limited as well', () => {
  const budget = new AnnouncementBudget(1000, 1);
  fill(budget, 100);
  // 12 MB at first, and up to 50 kB beyond.
  expect(budget.release(0, order(undefined, 400_000))).toHaveLength(31);
  // The bytes of 20 seconds at 20 kB/s lead to the first one above zero.
  expect(budget.release(19_000, order(undefined, 400_000))).toEqual([]);
  expect(budget.release(21_000, order(undefined, 400_000))).toHaveLength(1);
});

test('a factor multiplies the rate, not the burst', () => {
  const budget = new AnnouncementBudget(2, 2.5);
  fill(budget, 200);
  expect(budget.release(0, order())).toHaveLength(70);
  expect(budget.release(1900, order())).toEqual([]);
  expect(budget.release(2100, order())).toHaveLength(11);
});

test('in any interval no more is released than the rate, a burst and a step allow, and nothing is lost', () => {
  const steps = fc.array(
    fc.record({ ms: fc.integer({ min: 0, max: 20_000 }), add: fc.integer({ min: 0, max: 300 }) }),
    {
      minLength: 1,
      maxLength: 30,
    },
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), steps, (rate, all) => {
      const budget = new AnnouncementBudget(rate, 1);
      const released = new Set<number>();
      let nowMs = 0;
      let added = 0;
      for (const { ms, add } of all) {
        nowMs += ms;
        fill(budget, add, added);
        added += add;
        for (const wtxid of budget.release(nowMs, order())) released.add(numberOf(wtxid));
        expect(released.size).toBeLessThanOrEqual(rate * (30 + 5 + nowMs / 1000) + 1);
        expect(released.size + budget.view().backlog).toBe(added);
      }
    }),
    { numRuns: 50 },
  );
});

describe('the backlog', () => {
  test('has a limit, beyond which the oldest are dropped', () => {
    const budget = new AnnouncementBudget(1, 1);
    fill(budget, 20_010);
    expect(budget.view().backlog).toBe(20_000);
    const lowest = Math.min(...budget.release(0, order()).map(numberOf));
    expect(lowest).toBeGreaterThanOrEqual(10);
  });

  test('is sorted as a whole, so that cheap transactions before it delay no better one', () => {
    const budget = new AnnouncementBudget(1, 1);
    fill(budget, 20_000);
    let sorted = 0;
    budget.release(0, (wtxids) => {
      const all = [...wtxids];
      sorted = all.length;
      return order()(all);
    });
    expect(sorted).toBe(20_000);
    expect(budget.view().backlog).toBe(20_000 - 35);
  });

  test('is empty after it is cleared', () => {
    const budget = new AnnouncementBudget(1, 1);
    fill(budget, 10);
    budget.clear();
    expect(budget.release(0, order())).toEqual([]);
  });
});
