import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { PrivateQueue } from '../../src/p2p/relay/private-queue.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';

/** A transaction of which the queue reads only the ids and the size. */
function transaction(n: number, size = 100, txid = n): ParsedTransaction {
  const hash = (value: number, kind: number) => {
    const bytes = new Uint8Array(32).fill(kind);
    new DataView(bytes.buffer).setUint32(0, value);
    return bytes;
  };
  return { txid: hash(txid, 1), wtxid: hash(n, 2), raw: new Uint8Array(size) } as unknown as ParsedTransaction;
}

const MINUTE = 60_000;

test('transactions are sent to peers in turn, each peer gets one, and none more than 1,000 times', () => {
  const queue = new PrivateQueue();
  const txs = [0, 1, 2].map((n) => transaction(n));
  for (const tx of txs) expect(queue.add(tx, 0)).toBe('added');
  const counts = new Map<ParsedTransaction, number>();
  for (let peer = 0; peer < 3000; peer++) {
    const tx = queue.assign(peer, `peer ${peer}`, peer)!;
    counts.set(tx, (counts.get(tx) ?? 0) + 1);
    const most = Math.max(...counts.values());
    for (const each of txs) expect(most - (counts.get(each) ?? 0)).toBeLessThanOrEqual(1);
  }
  expect(queue.assign(0, 'again', 1)).toBeNull();
  expect(queue.hasPending).toBe(false);
  expect(queue.assign(5000, 'one more', 1)).toBeNull();
  // A new request begins again.
  expect(queue.add(txs[0]!, 9)).toBe('added');
  expect(queue.assign(5000, 'one more', 1)).toBe(txs[0]!);
});

test('the same transaction is known, and another witness of it is another transaction', () => {
  const queue = new PrivateQueue();
  const [one, other] = [transaction(1, 100, 7), transaction(2, 100, 7)];
  expect([queue.add(one, 0), queue.add(one, 1), queue.add(other, 2)]).toEqual(['added', 'known', 'added']);
  expect(queue.withId(one.txid)).toEqual([one, other]);
  expect(queue.withId(other.wtxid)).toEqual([other]);
  expect(queue.remove(one.wtxid)).toBe(0);
  expect(queue.remove(one.wtxid)).toBeNull();
  expect(queue.withId(one.txid)).toEqual([other]);
});

describe('the queue is full', () => {
  test('with 10,000 transactions, and a removal makes room', () => {
    const queue = new PrivateQueue();
    for (let n = 0; n < 10_000; n++) expect(queue.add(transaction(n), 0)).toBe('added');
    expect(queue.add(transaction(10_000), 0)).toBe('full');
    expect(queue.add(transaction(5), 0)).toBe('known');
    queue.remove(transaction(5).wtxid);
    expect(queue.add(transaction(10_000), 0)).toBe('added');
  });

  test('with 100 megabytes', () => {
    const queue = new PrivateQueue();
    for (let n = 0; n < 10; n++) expect(queue.add(transaction(n, 10_000_000), 0)).toBe('added');
    expect(queue.add(transaction(10, 1), 0)).toBe('full');
  });
});

test('a transaction is stale five minutes after it was added, or one after the last peer received it', () => {
  const queue = new PrivateQueue();
  const tx = transaction(1);
  queue.add(tx, 0);
  expect(queue.stale(5 * MINUTE)).toEqual([]);
  expect(queue.stale(5 * MINUTE + 1)).toEqual([tx]);
  queue.assign(1, 'a', 0);
  queue.confirm(1, 6 * MINUTE);
  expect(queue.stale(7 * MINUTE)).toEqual([]);
  expect(queue.stale(7 * MINUTE + 1)).toEqual([tx]);
});

test('a removed transaction is no longer assigned, and a connection is forgotten once', () => {
  const queue = new PrivateQueue();
  const tx = transaction(1);
  queue.add(tx, 0);
  expect(queue.assign(1, 'a', 0)).toBe(tx);
  expect(queue.assignedTo(1)).toBe(tx);
  queue.confirm(1, 5);
  expect(queue.list()).toEqual([
    { parsed: tx, addedAt: 0, attempts: [{ address: 'a', sentAt: 0, receivedAt: 5 }], attemptsLeft: 999 },
  ]);
  expect(queue.remove(tx.wtxid)).toBe(1);
  expect(queue.assignedTo(1)).toBeNull();
  expect([queue.forgetPeer(1), queue.forgetPeer(1), queue.forgetPeer(2)]).toEqual([true, false, false]);
});

test('the transaction that was sent to the fewest peers comes first, in whatever order they come and go', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), n: fc.nat(5) }),
    fc.record({ kind: fc.constant('remove' as const), n: fc.nat(5) }),
    fc.record({ kind: fc.constant('send' as const), n: fc.constant(0) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new PrivateQueue();
      const sent = new Map<number, number>();
      let peer = 0;
      for (const { kind, n } of steps) {
        if (kind === 'add' && queue.add(transaction(n), peer) === 'added') sent.set(n, 0);
        if (kind === 'remove' && queue.remove(transaction(n).wtxid) !== null) sent.delete(n);
        if (kind !== 'send') continue;
        const tx = queue.assign(peer++, 'a', peer);
        const least = Math.min(...sent.values());
        expect(tx === null).toBe(sent.size === 0);
        if (tx === null) continue;
        const chosen = new DataView(tx.wtxid.buffer).getUint32(0);
        expect(sent.get(chosen)).toBe(least);
        sent.set(chosen, least + 1);
      }
    }),
  );
});
