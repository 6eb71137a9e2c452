import { describe, expect, test } from 'bun:test';
import type { MempoolChange } from '../../src/mempool/changes.ts';
import type { TxSource } from '../../src/mempool/mirror.ts';
import type { MempoolBatch } from '../../src/sink/mempool-entries.ts';
import { MempoolOutbox } from '../../src/sink/mempool-outbox.ts';
import { type MempoolItem, MempoolQueue } from '../../src/sink/mempool-queue.ts';

const END = Number.POSITIVE_INFINITY;

function added(seq: number, { bytes = 10, silent = false } = {}): MempoolChange {
  const data = JSON.stringify({ seq, time: 1_700_000_000, txid: String(seq) });
  const facts = { fee: 1, feeDelta: 0, weight: 4, vsize: 1, sigopCost: 0, time: 0, height: 0 };
  const tx = { raw: new Uint8Array(bytes).fill(seq), spent: Uint8Array.of(1, seq) };
  return { kind: 'added', seq, data, silent, slot: 0, ...tx, ...facts, unbroadcast: false, replaced: [] };
}

function removed(seq: number): MempoolChange {
  const data = JSON.stringify({ seq, time: 1_700_000_000, reason: 'block' });
  const txid = new Uint8Array(32);
  return { kind: 'removed', seq, data, silent: false, slot: seq, txid, reason: 'block', replacedBy: null };
}

/** An outbox whose batches reach a queue when the test passes them on. */
class Way {
  readonly batches: MempoolBatch[] = [];
  readonly queue: MempoolQueue;
  readonly outbox: MempoolOutbox;

  constructor() {
    this.outbox = new MempoolOutbox({ post: (batch) => this.batches.push(batch), removed: (slot) => txAt(slot) });
    this.queue = new MempoolQueue((bytes) => this.outbox.release(bytes));
  }

  send(changes: readonly MempoolChange[], lastSeq: number): void {
    this.outbox.addUpdate({ changes, commit: { lastSeq, tip: { height: 1, hash: '' } } });
  }

  deliver(): void {
    for (const batch of this.batches.splice(0)) this.queue.add(structuredClone(batch));
  }
}

const txAt = (slot: number): TxSource => ({ raw: Uint8Array.of(7, slot), spent: Uint8Array.of(8) });
const short = (items: readonly MempoolItem[]) => items.map(({ type, seq }) => (type === 'gap' ? 'gap' : seq));

describe('MempoolOutbox and MempoolQueue', () => {
  test('events arrive in order with copies of their transactions, behind a gap', () => {
    const way = new Way();
    way.send([added(1)], 1);
    way.outbox.open();
    way.send([added(2), { kind: 'fees', report: {} as never }, removed(3), added(4, { silent: true })], 5);
    way.deliver();
    const items = way.queue.itemsBefore(END);
    expect(short(items)).toEqual(['gap', 2, 3]);
    expect(items.map((item) => (item.type === 'gap' ? null : item.tx))).toEqual([
      null,
      { raw: new Uint8Array(10).fill(2), spent: Uint8Array.of(1, 2) },
      txAt(3),
    ]);
    expect(way.queue.hasArrived(5)).toBe(true);
    expect(way.queue.hasArrived(6)).toBe(false);
  });

  test('events without a block are sent together after a moment', async () => {
    const way = new Way();
    way.outbox.open();
    for (let seq = 1; seq <= 20; seq++) way.outbox.addUpdate({ changes: [added(seq)], commit: null });
    expect(way.batches).toHaveLength(1);
    while (way.batches.length < 2) await Bun.sleep(1);
    expect(way.batches[1]!.entries).toHaveLength(20);
    way.outbox.close();
  });

  test('a gap without an event behind it waits, and two gaps are one', () => {
    const way = new Way();
    way.outbox.open();
    way.deliver();
    expect(way.queue.itemsBefore(END)).toEqual([]);
    way.queue.dropAll();
    way.send([added(1), added(2), added(9)], 9);
    way.deliver();
    expect(short(way.queue.itemsBefore(9))).toEqual(['gap', 1, 2]);
    expect(short(way.queue.itemsBefore(END, 2))).toEqual(['gap', 1]);
    way.queue.removeFirst(3);
    expect(short(way.queue.itemsBefore(END))).toEqual([9]);
    way.queue.dropUpTo(20);
    expect(way.queue.length).toBe(0);
    way.send([added(21)], 21);
    way.deliver();
    expect(short(way.queue.itemsBefore(END))).toEqual(['gap', 21]);
  });

  test('what the receiver does not release is dropped and becomes one gap in its place', () => {
    const way = new Way();
    way.outbox.open();
    const [large, count] = [1 << 20, 40];
    for (let seq = 1; seq <= count; seq++) way.send([added(seq, { bytes: large })], seq);
    expect(way.outbox.unreleased).toBeLessThanOrEqual(32 << 20);
    expect(way.outbox.unreleased).toBeGreaterThan(30 << 20);
    way.deliver();
    const held = way.queue.length;
    expect(held).toBeLessThan(count);
    // The number of the last block still arrives, so that its events do not wait.
    expect(way.queue.hasArrived(count)).toBe(true);
    // The gap at the beginning, and a few events: not half of the limit.
    way.queue.removeFirst(1 + 4);
    way.send([added(count + 1)], count + 1);
    way.deliver();
    expect(way.queue.length).toBe(held - 4);
    way.queue.removeFirst(way.queue.length);
    expect(way.outbox.unreleased).toBe(0);
    way.send([added(count + 2), added(count + 3)], count + 3);
    way.deliver();
    expect(short(way.queue.itemsBefore(END))).toEqual(['gap', count + 2, count + 3]);
  });

  test('a queue without a sender drops what arrives, and releases it', () => {
    const way = new Way();
    way.outbox.open();
    way.deliver();
    way.queue.close();
    way.send([added(1)], 1);
    expect(way.outbox.unreleased).toBeGreaterThan(0);
    way.deliver();
    expect(way.outbox.unreleased).toBe(0);
    expect(way.queue.isOpen).toBe(false);
    way.outbox.close();
    way.send([added(2)], 2);
    expect(way.batches).toEqual([]);
  });
});
