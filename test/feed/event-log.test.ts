import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { EventLog } from '../../src/feed/event-log.ts';
import { cursorIn, type LogEntry } from '../../src/feed/log-entry.ts';
import type { MempoolChange } from '../../src/mempool/changes.ts';
import { added, LogFixture, update } from '../lib/log-fixture.ts';

/** Longer than one slice of reading. */
async function settled(log: EventLog, seq: number): Promise<void> {
  while (log.seq < seq) await new Promise((resolve) => setImmediate(resolve));
}

describe('the order of chain and mempool', () => {
  test('a mempool event waits for the rows before it, whether their commit was announced or not', () => {
    using it = new LogFixture({ rows: [1, 2] });
    it.write(3);
    it.log.append([update(4)]);
    it.write(5);
    it.log.append([update(6)]);
    expect(it.all()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('rows wait for their commit, since earlier mempool events may still arrive', () => {
    using it = new LogFixture({ rows: [1] });
    it.write(3);
    expect(it.all()).toEqual([1]);
    it.log.append([update(2)]);
    expect(it.all()).toEqual([1, 2]);
    expect([it.log.seq, it.log.latest]).toEqual([2, 3]);
    it.log.committed(3);
    expect(it.all()).toEqual([1, 2, 3]);
  });

  test('an event that arrives after a higher number was delivered is left out and reported as a gap', () => {
    using it = new LogFixture({ rows: [1] });
    it.write(3);
    it.log.committed(3);
    it.log.append([update(2), update(4)]);
    expect(it.all()).toEqual([1, 3, 4]);
    expect(it.gaps(1)).toEqual([{ scope: 'mempool', fromSeq: 2, toSeq: 3, lastChainSeq: 3 }]);
    expect(it.gaps(3)).toEqual([]);
  });

  test('the last number of a gap of the mempool may be that of an event of the chain, which is delivered', () => {
    using it = new LogFixture({ rows: [1] });
    it.write(4, 6);
    it.log.appendGap(4);
    it.log.committed(6);
    expect(it.all()).toEqual([1, 4, 6]);
    expect(it.gaps(1)).toEqual([{ scope: 'mempool', fromSeq: 2, toSeq: 4, lastChainSeq: 6 }]);
    expect(it.gaps(4)).toEqual([]);
  });

  test('cursors of a log that begins behind an event of the mempool name the event of the chain before it', () => {
    using it = new LogFixture({ rows: [1, 2] });
    it.log.attach(it.reads, 5);
    it.log.append([update(6)]);
    const cursor = cursorIn(it.log.after(5, 1).entries[0]!);
    expect(it.point(cursor)).toMatchObject({ seq: 6, chainSeq: 2 });
    expect(it.gaps(`${cursor}z`)).toEqual([]);
  });

  test('changes of an entry that no client sees are no event', () => {
    using it = new LogFixture({ rows: [1] });
    it.log.append([{ kind: 'modified', txid: new Uint8Array(32), feeDelta: 1, unbroadcast: false }, update(2)]);
    expect(it.all(1)).toEqual([2]);
  });

  test('many rows are read in slices, and no event overtakes them', async () => {
    using it = new LogFixture({ rows: [1], sliceMs: 1 });
    const rows = Array.from({ length: 3000 }, (_, i) => i + 2);
    it.write(...rows);
    it.log.committed(3001);
    it.log.append([update(3002)]);
    await settled(it.log, 3002);
    expect(it.all()).toEqual([1, ...rows, 3002]);
  });
});

describe('entries', () => {
  test('an entry has the message, and for a transaction its spent coins, feerate and reason of removal', () => {
    using it = new LogFixture();
    const change = added(1, 'ab'.repeat(32));
    const gone = {
      kind: 'removed',
      slot: 0,
      seq: 2,
      txid: new Uint8Array(32),
      reason: 'replaced',
      silent: false,
      replacedBy: null,
      gone: { raw: Uint8Array.of(7), spent: new Uint8Array(0) },
    } as const;
    it.log.append([change, { ...gone, data: JSON.stringify({ seq: 2, txid: 'ab'.repeat(32) }) }]);
    const { entries } = it.log.after(0, 10);
    expect(entries).toEqual([
      {
        seq: 1,
        type: 'newTransaction',
        text: `{"type":"newTransaction","data":{"cursor":"log1now0000000001m000000000","seq":1,"txid":"${'ab'.repeat(32)}"}}`,
        tx: { raw: expect.any(Uint8Array), spent: expect.any(Uint8Array) },
        feeRate: 3,
        reason: null,
      },
      expect.objectContaining({ type: 'transactionRemoved', reason: 'replaced' }) as unknown as LogEntry,
    ]);
    expect(entries[1]!.tx!.raw).toEqual(Uint8Array.of(7));
    expect([...it.log.mempool()]).toEqual([]);
  });

  test('entries are found by type, and the scanned position moves past the others', () => {
    using it = new LogFixture({ rows: [1, 2, 3] });
    it.log.append([update(4), added(5)]);
    const only = (type: string, limit = 10) => it.log.after(0, limit, new Set([type]));
    expect(only('mempoolUpdate')).toMatchObject({ entries: [], scanned: 3 });
    expect(it.log.after(3, 10, new Set(['mempoolUpdate']))).toMatchObject({ entries: [{ seq: 4 }], scanned: 5 });
    expect(only('newBlock', 2)).toMatchObject({ entries: [{ seq: 1 }, { seq: 2 }], scanned: 2 });
    expect(it.log.oldest()).toEqual({ chain: 1, mempool: 4 });
  });
});

describe('limits of the log', () => {
  for (const [name, limits] of [
    ['entries', { entries: 3 }],
    ['bytes', { bytes: 3 * 1800 }],
  ] as const)
    test(`the log is bounded in ${name}; rows stay readable, and the rest is a gap`, () => {
      using it = new LogFixture({ rows: [1], limits });
      it.write(2);
      it.log.committed(2);
      for (let seq = 3; seq <= 10; seq++) {
        if (seq === 5) {
          it.write(seq);
          it.log.committed(seq);
        } else it.log.append([added(seq, undefined, 500)]);
      }
      expect(it.all()).toEqual([1, 2, 5, 8, 9, 10]);
      expect([it.all(5), it.all(7), it.all(9)]).toEqual([[8, 9, 10], [8, 9, 10], [10]]);
      expect(it.gaps(4)).toEqual([{ scope: 'mempool', fromSeq: 5, toSeq: 7, lastChainSeq: 5 }]);
      expect(it.gaps(7)).toEqual([]);
      expect(it.log.lostTo).toBe(7);
    });

  test('the log is bounded in time', () => {
    using it = new LogFixture({ rows: [1] });
    it.log.append([update(2)]);
    it.clock.advance(23 * 3600 * 1000);
    it.log.append([update(3)]);
    expect(it.all(1)).toEqual([2, 3]);
    it.clock.advance(2 * 3600 * 1000);
    it.log.append([update(4)]);
    expect(it.all(1)).toEqual([3, 4]);
  });

  test('rows that are gone are a gap of all kinds, and come first', () => {
    using it = new LogFixture({ rows: [1, 2, 3, 4], limits: { entries: 1 } });
    it.log.append([update(5), update(6)]);
    it.prune(4);
    expect(it.gaps(1)).toEqual([
      { scope: 'all', fromSeq: 2, toSeq: 3, lastChainSeq: 4 },
      { scope: 'mempool', fromSeq: 4, toSeq: 5, lastChainSeq: 4 },
    ]);
    expect(it.gaps(3)).toMatchObject([{ scope: 'mempool', fromSeq: 4 }]);
  });
});

describe('after a restart', () => {
  test('numbers of the earlier process are known, and its mempool events are a gap', () => {
    using it = new LogFixture({ rows: [1, 100], first: 10_001 });
    const known = (seq: number) => it.log.behind(seq, '') !== null;
    expect([known(150), known(10_000), known(10_001)]).toEqual([true, true, false]);
    const gap = { scope: 'mempool', fromSeq: 151, toSeq: 10_000, lastChainSeq: 100 } as const;
    expect(it.gaps(150)).toEqual([gap]);
    it.log.append([update(10_001)]);
    expect(it.gaps(150)).toEqual([gap]);
    expect(it.gaps(10_000)).toEqual([]);
    expect([known(10_001), known(10_002)]).toEqual([true, false]);
    expect(it.log.lostTo).toBe(0);
  });

  test('messages of a block that is gone are missing, whatever has ended of the mempool', () => {
    using it = new LogFixture({ rows: [1, 100, 101], first: 10_001, ended: { last: 0, lastCause: 0, undone: null } });
    it.prune(101);
    expect(it.gaps('log1000000000002sc')).toEqual([{ scope: 'all', fromSeq: 100, toSeq: 100, lastChainSeq: 101 }]);
    expect(it.log.gapsBehind({ seq: 100, within: '', chainSeq: null })).toMatchObject([{ scope: 'all', toSeq: 100 }]);
  });

  test('a client that misses events of two kinds gets a gap from the oldest transaction that a kill has removed', () => {
    const undone = { fromSeq: 40, toSeq: 120, floor: 10_000 };
    using it = new LogFixture({ rows: [1, 100], first: 10_001, ended: { last: 120, lastCause: 120, undone } });
    expect(it.gaps(110)).toMatchObject([{ scope: 'mempool', fromSeq: 40, toSeq: 120 }]);
    expect(it.gaps(20)).toMatchObject([{ scope: 'mempool', fromSeq: 21, toSeq: 120 }]);
    expect(it.gaps(120)).toMatchObject([{ scope: 'mempool', fromSeq: 40, toSeq: 120 }]);
    expect(it.gaps(10_000)).toEqual([]);
  });

  test('a first event that follows the last one says that nothing was lost', () => {
    using it = new LogFixture({ rows: [1] });
    it.log.append([update(2)]);
    expect(it.gaps(1)).toEqual([]);
  });

  test('events that derive from a lost event are lost as well', () => {
    using it = new LogFixture({ rows: [1, 100], first: 10_001 });
    const within = (seq: number) => it.log.gapsBehind({ seq, within: '', chainSeq: null });
    expect(within(10_000)).toMatchObject([{ scope: 'mempool', fromSeq: 10_000, toSeq: 10_000 }]);
    expect(within(150)).toMatchObject([{ scope: 'mempool', fromSeq: 150 }]);
    // A block is still there, and what is derived from it comes again.
    expect(within(100)).toMatchObject([{ scope: 'mempool', fromSeq: 101 }]);
    it.log.append([added(10_001)]);
    expect(within(10_001)).toEqual([]);
  });
});

describe('cursors', () => {
  const NOW = 'log1now0';
  const BEFORE = 'log10000';

  test('a cursor names its log, its number and the newest event of the chain', () => {
    using it = new LogFixture({ rows: [1, 2], first: 40 });
    it.log.append([update(40)]);
    it.write(41);
    it.log.append([update(42)]);
    const entries = [...it.log.after(0, 10).entries, ...it.log.after(2, 10).entries];
    expect(entries.map(cursorIn)).toEqual([
      `${BEFORE}000000001c`,
      `${BEFORE}000000002c`,
      `${NOW}000000014m000000002`,
      `${NOW}000000015c`,
      `${NOW}000000016m000000015`,
    ]);
    for (const entry of entries) {
      const { seq, text } = entry;
      const cursor = cursorIn(entry);
      expect(JSON.parse(text).data).toMatchObject({ cursor, seq });
      expect(it.log.cursorAt({ seq, within: '' })).toBe(cursor);
      expect(it.log.locate(cursor)).toMatchObject({ seq, within: '' });
    }
    expect(it.log.latestCursor).toBe(`${cursorIn(entries.at(-1)!)}z`);
    expect(it.gaps(cursorIn(entries[1]!))).toEqual([{ scope: 'mempool', fromSeq: 3, toSeq: 39, lastChainSeq: 41 }]);
  });

  test('a cursor of another log, another history, a future number or another format is rejected with its reason', () => {
    using it = new LogFixture({ rows: [1, 100], first: 10_001 });
    it.log.append([update(10_001)]);
    const cursor = (tag: string, seq: number) => `${tag}${seq.toString(36).padStart(9, '0')}m000000000`;
    expect(it.log.locate(cursor('log2now0', 1))).toBe('other-log');
    // These numbers were given by a process that this database knows nothing of: it is a copy from before.
    expect(it.log.locate(cursor(BEFORE, 10_001))).toBe('other-history');
    expect(it.log.locate(cursor('log1abcd', 7))).toBe('other-history');
    expect(it.log.locate(cursor(NOW, 10_002))).toBe('ahead');
    for (const text of ['', 'x', cursor(NOW, 1).slice(1), `${cursor(NOW, 10_001)}a`, cursor(NOW, 10_001).toUpperCase()])
      expect(it.log.locate(text)).toBe('malformed');
    expect(it.log.locate(cursor(NOW, 10_001))).toMatchObject({ seq: 10_001 });
  });

  test('a cursor of a block that the log has lost in a power failure or by an older copy finds a gap of all kinds', () => {
    using it = new LogFixture({ rows: [1, 100], first: 10_001 });
    it.log.append([update(10_001)]);
    const lost = { scope: 'all', fromSeq: 101, toSeq: 10_000, lastChainSeq: 100 } as const;
    expect(it.gaps(`${BEFORE}000000050c`)).toEqual([lost]);
    expect(it.gaps(`${BEFORE}000000051m000000050a0000000001`)).toEqual([lost]);
    // The cursor of a transaction that arrived before the lost blocks finds a gap of the mempool only.
    expect(it.gaps(`${BEFORE}000000051m00000002s`)).toMatchObject([{ scope: 'mempool', toSeq: 10_000 }]);
  });

  test('a cursor older than the log finds a gap and no error', () => {
    using it = new LogFixture({ rows: [1, 2, 3, 4] });
    it.prune(4);
    expect(it.gaps(`${BEFORE}000000000cz`)).toEqual([{ scope: 'all', fromSeq: 1, toSeq: 3, lastChainSeq: 4 }]);
  });

  test('a cursor of a gap skips no stored event, and reaches its end', () => {
    using it = new LogFixture({ rows: [1, 100, 200], first: 10_001 });
    const end = (at: string) => it.point(it.log.gapsBehind(it.point(at))[0]!.cursor);
    // The number of a transaction before block 100.
    expect(end(`${BEFORE}00000001em000000001`)).toMatchObject({ seq: 99, within: 'z' });
    // Messages derived from block 100 may follow.
    expect(end(`${BEFORE}00000002sc`)).toMatchObject({ seq: 100, within: '' });
    expect(end(`${BEFORE}00000002sca0000000001`)).toMatchObject({ seq: 100, within: 'a0000000001' });
    expect(end(`${BEFORE}00000002scz`)).toMatchObject({ seq: 199, within: 'z' });
    expect(end(`${BEFORE}00000005kcz`)).toMatchObject({ seq: 10_000, within: 'z' });
    expect(it.gaps(it.log.cursorAt({ seq: 10_000, within: 'z' }))).toEqual([]);
  });
});

test('closing the log notifies its observers', () => {
  using it = new LogFixture();
  let notified = 0;
  const end = it.log.onGrown(() => notified++);
  it.log.append([update(1)]);
  it.log.close();
  it.log.append([update(2)]);
  end();
  expect([notified, it.log.closed, it.log.seq]).toEqual([2, true, 1]);
});

type Step = { kind: 'row' | 'mempool'; count: number; tell: boolean } | { kind: 'read'; by: number; limit: number };

test('any interleaving gives every reader every event once and in order', async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constantFrom('row', 'mempool'),
      count: fc.integer({ min: 1, max: 5 }),
      tell: fc.boolean(),
    }) as fc.Arbitrary<Step>,
    fc.record({
      kind: fc.constant('read'),
      by: fc.nat(2),
      limit: fc.integer({ min: 1, max: 4 }),
    }) as fc.Arbitrary<Step>,
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      using it = new LogFixture({ rows: [1], sliceMs: 1 });
      let next = 2;
      // Updates that the node thread has posted, in order; they arrive in several parts.
      const port: (number | MempoolChange)[] = [];
      const readers = [0, 1, 2].map(() => ({ at: 0, got: [] as number[] }));
      const deliver = () => {
        for (const message of port.splice(0))
          if (typeof message === 'number') it.log.committed(message);
          else it.log.append([message]);
      };
      const read = ({ by, limit }: { by: number; limit: number }) => {
        const reader = readers[by]!;
        const { entries, scanned } = it.log.after(reader.at, limit);
        reader.got.push(...entries.map(({ seq }) => seq));
        reader.at = scanned;
        return entries.length;
      };
      for (const step of steps) {
        if (step.kind === 'read') {
          read(step);
          continue;
        }
        for (let i = 0; i < step.count; i++, next++) {
          if (step.kind === 'row') it.write(next);
          else port.push(added(next));
        }
        if (step.kind === 'row') port.push(next - 1);
        if (step.tell) deliver();
      }
      deliver();
      await settled(it.log, next - 1);
      const everything = Array.from({ length: next - 1 }, (_, i) => i + 1);
      for (const [by, reader] of readers.entries()) {
        while (reader.at < it.log.seq) read({ by, limit: 4 });
        expect(reader.got).toEqual(everything);
      }
    }),
    { numRuns: 60 },
  );
});
