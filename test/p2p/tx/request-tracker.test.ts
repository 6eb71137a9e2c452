import { describe, expect, test } from 'bun:test';
import { sipHashKey } from '../../../src/crypto/siphash.ts';
import type { GenTxid } from '../../../src/p2p/tx/gen-txid.ts';
import { type ExpiredRequest, RequestTracker, requestPriority } from '../../../src/p2p/tx/request-tracker.ts';

const KEY = sipHashKey(1n, 2n);
const ALWAYS = Number.NEGATIVE_INFINITY;
const NEVER = Number.POSITIVE_INFINITY;

/** A tracker at a time, with the checks of Core's txrequest_tests. */
class Scenario {
  readonly tracker = new RequestTracker(KEY);
  readonly expired: ExpiredRequest[] = [];
  now = 1000;
  #next = 0;

  /** An id whose peers have these random priorities. */
  id(by: GenTxid['by'] = 'wtxid', ...orders: readonly number[][]): GenTxid {
    for (;;) {
      const hash = new Uint8Array(32);
      new DataView(hash.buffer).setUint32(0, this.#next++);
      const fits = orders.every((order) =>
        order.every(
          (peer, i) =>
            i === 0 || requestPriority(KEY, hash, order[i - 1]!, true) > requestPriority(KEY, hash, peer, true),
        ),
      );
      if (fits) return { by, hash };
    }
  }

  /** Checks the requestable ids, then the numbers of candidates, requests in flight and completed announcements. */
  check(peer: number, ids: readonly GenTxid[], candidates: number, inFlight: number, completed: number): void {
    const { tracker } = this;
    expect(tracker.getRequestable(peer, this.now, this.expired)).toEqual([...ids]);
    const counts = [tracker.candidates(peer), tracker.inFlight(peer), tracker.count(peer)];
    expect(counts).toEqual([candidates, inFlight, candidates + inFlight + completed]);
  }
}

describe('one transaction of one peer', () => {
  test.each([true, false])('it is requested at its request time (preferred: %p)', (preferred) => {
    const s = new Scenario();
    const id = s.id();
    s.tracker.receivedInv(7, id, preferred, 5000);
    s.check(7, [], 1, 0, 0);
    s.now = 4999;
    s.check(7, [], 1, 0, 0);
    s.now = 5000;
    s.check(7, [id], 1, 0, 0);
    // A repeated announcement changes nothing.
    s.tracker.receivedInv(7, id, true, NEVER);
    s.check(7, [id], 1, 0, 0);
    s.tracker.requestedTx(7, id.hash, 9000);
    s.check(7, [], 0, 1, 0);
    s.now = 8999;
    s.check(7, [], 0, 1, 0);
    expect(s.expired).toEqual([]);
    s.now = 9000;
    s.check(7, [], 0, 0, 0);
    expect(s.expired).toEqual([{ peer: 7, id }]);
    expect(s.tracker.size).toBe(0);
  });

  test.each([
    ['answered', (s: Scenario, id: GenTxid) => s.tracker.receivedResponse(7, id.hash)],
    ['gone', (s: Scenario) => s.tracker.disconnectedPeer(7)],
    ['no longer needed', (s: Scenario, id: GenTxid) => s.tracker.forgetTxHash(id.hash)],
  ])('it is forgotten if it is %s, requested or not', (_title, end) => {
    for (const asked of [false, true])
      for (const delayed of [false, true]) {
        const s = new Scenario();
        const id = s.id('txid');
        s.tracker.receivedInv(7, id, true, delayed ? NEVER : ALWAYS);
        if (asked) s.tracker.requestedTx(7, id.hash, NEVER);
        s.check(7, asked || delayed ? [] : [id], asked ? 0 : 1, asked ? 1 : 0, 0);
        end(s, id);
        s.check(7, [], 0, 0, 0);
        expect(s.tracker.size).toBe(0);
      }
  });
});

describe('one transaction of several peers', () => {
  for (let config = 0; config < 32; config++)
    test(`the preferred peer comes first, otherwise the one with the higher priority (${config})`, () => {
      const s = new Scenario();
      const [firstLucky, firstPreferred, secondPreferred] = [!!(config & 1), !!(config & 2), !!(config & 4)];
      const id = s.id('wtxid', firstLucky ? [1, 2] : [2, 1]);
      s.tracker.receivedInv(1, id, firstPreferred, ALWAYS);
      s.check(1, [id], 1, 0, 0);
      s.tracker.receivedInv(2, id, secondPreferred, ALWAYS);
      const secondFirst = (secondPreferred && !firstPreferred) || (firstPreferred === secondPreferred && !firstLucky);
      const [chosen, other] = secondFirst ? [2, 1] : [1, 2];
      s.check(other, [], 1, 0, 0);
      s.check(chosen, [id], 1, 0, 0);
      expect(s.tracker.getCandidatePeers(id.hash).sort()).toEqual([1, 2]);
      if (config & 8) {
        s.tracker.requestedTx(chosen, id.hash, NEVER);
        s.check(chosen, [], 0, 1, 0);
        s.check(other, [], 1, 0, 0);
      }
      if (config & 16) s.tracker.disconnectedPeer(chosen);
      else s.tracker.receivedResponse(chosen, id.hash);
      s.check(chosen, [], 0, 0, config & 16 ? 0 : 1);
      s.check(other, [id], 1, 0, 0);
      expect(s.tracker.getCandidatePeers(id.hash)).toEqual([other]);
      s.tracker.disconnectedPeer(other);
      s.check(1, [], 0, 0, 0);
      s.check(2, [], 0, 0, 0);
    });

  test('a later announcement takes over if it is better, and the best of the rest follows', () => {
    const s = new Scenario();
    const preferred = [3, 1, 4];
    const others = [9, 2, 6];
    const order = [...preferred, ...others];
    const id = s.id('wtxid', preferred, others);
    for (const [i, peer] of order.entries())
      s.tracker.receivedInv(peer, id, i < preferred.length, 1000 + (order.length - i) * 100);
    for (const peer of order) s.check(peer, [], 1, 0, 0);
    for (let i = order.length - 1; i >= 0; i--) {
      s.now = 1000 + (order.length - i) * 100 - 1;
      s.check(order[i]!, [], 1, 0, 0);
      s.now++;
      s.check(order[i]!, [id], 1, 0, 0);
    }
    for (const gone of [4, 3, 2, 1, 6]) {
      order.splice(order.indexOf(gone), 1);
      s.tracker.receivedResponse(gone, id.hash);
      s.check(gone, [], 0, 0, 1);
      s.check(order[0]!, [id], 1, 0, 0);
    }
    // With the last candidate everything is forgotten.
    s.tracker.disconnectedPeer(9);
    expect(s.tracker.size).toBe(0);
  });

  test('it is requested by txid or wtxid as announced', () => {
    for (const preferTxid of [true, false]) {
      const s = new Scenario();
      const txid = s.id('txid');
      const wtxid: GenTxid = { by: 'wtxid', hash: txid.hash };
      s.tracker.receivedInv(1, txid, preferTxid, ALWAYS);
      s.tracker.receivedInv(2, wtxid, !preferTxid, ALWAYS);
      const [first, second] = preferTxid ? [1, 2] : [2, 1];
      const ids = { 1: txid, 2: wtxid } as Record<number, GenTxid>;
      s.check(first, [ids[first]!], 1, 0, 0);
      s.check(second, [], 1, 0, 0);
      s.tracker.requestedTx(first, txid.hash, 2000);
      s.check(second, [], 1, 0, 0);
      s.now = 2000;
      s.check(second, [ids[second]!], 1, 0, 0);
      s.check(first, [], 0, 0, 1);
      expect(s.expired).toEqual([{ peer: first, id: ids[first]! }]);
      s.tracker.forgetTxHash(txid.hash);
      s.check(first, [], 0, 0, 0);
      s.check(second, [], 0, 0, 0);
    }
  });
});

test('transactions are requested in order of announcement, whatever their delays', () => {
  const s = new Scenario();
  const [a, b] = [s.id(), s.id('txid')];
  s.tracker.receivedInv(1, a, false, 3000);
  s.tracker.receivedInv(1, b, true, 2000);
  s.now = 2000;
  s.check(1, [b], 2, 0, 0);
  s.now = 3000;
  s.check(1, [a, b], 2, 0, 0);
});

test('a clock that goes back changes nothing', () => {
  const s = new Scenario();
  const id = s.id();
  s.tracker.receivedInv(1, id, false, 3000);
  s.now = 3000;
  s.check(1, [id], 1, 0, 0);
  s.now = 10;
  s.check(1, [id], 1, 0, 0);
});

test('requests that the tracker did not propose are recorded', () => {
  const s = new Scenario();
  const a = s.id('wtxid', [1, 2]);
  const b = s.id('wtxid', [2, 1]);
  s.tracker.receivedInv(1, a, true, ALWAYS);
  s.tracker.receivedInv(2, b, true, ALWAYS);
  // A request that was not announced has no effect.
  s.tracker.requestedTx(1, b.hash, NEVER);
  s.check(1, [a], 1, 0, 0);
  s.check(2, [b], 1, 0, 0);
  s.tracker.requestedTx(1, a.hash, 5000);
  // For a repeated request the first expiry counts.
  s.tracker.requestedTx(1, a.hash, 6000);
  s.check(1, [], 0, 1, 0);
  s.tracker.receivedInv(2, a, true, ALWAYS);
  s.check(2, [b], 2, 0, 0);
  s.now = 5000;
  s.check(1, [], 0, 0, 1);
  s.check(2, [b, a], 2, 0, 0);
  // A completed announcement stays completed.
  s.tracker.requestedTx(1, a.hash, NEVER);
  s.check(1, [], 0, 0, 1);
  s.tracker.receivedInv(1, b, true, ALWAYS);
  s.check(1, [], 1, 0, 1);
  // The peer is not the selected one, but is asked nevertheless.
  s.tracker.requestedTx(1, b.hash, NEVER);
  s.check(1, [], 0, 1, 1);
  s.check(2, [a], 2, 0, 0);
  s.tracker.requestedTx(2, b.hash, NEVER);
  s.check(1, [], 0, 0, 2);
  s.check(2, [a], 1, 1, 0);
  s.tracker.disconnectedPeer(2);
  s.check(1, [], 0, 0, 0);
  expect(s.tracker.size).toBe(0);
});
