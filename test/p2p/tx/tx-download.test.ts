import { describe, expect, test } from 'bun:test';
import type { TxRejectKind } from '../../../src/consensus/rejection.ts';
import type { ParsedBlock, ParsedTransaction } from '../../../src/primitives/block.ts';
import { byTxid, byWtxid, childOf, madeUpTx, TestDownload } from './download-fixture.ts';

describe('request times and limits', () => {
  const delayOf = (info: object, by: typeof byTxid, others: object[] = []): number => {
    const t = new TestDownload();
    t.connect(1, info);
    for (const [i, other] of others.entries()) t.connect(2 + i, other);
    const tx = madeUpTx();
    expect(t.download.addTxAnnouncement(1, by(tx))).toBe(false);
    for (let ms = 0; ; ms += 2000) {
      const requests = t.download.requestsToSend(1);
      if (requests.length > 0) {
        expect(requests).toEqual([by(tx)]);
        return ms;
      }
      t.clock.advance(1999);
      expect(t.download.requestsToSend(1)).toEqual([]);
      t.clock.advance(1);
    }
  };

  test('a wtxid of a preferred peer is requested at once', () => {
    expect(delayOf({ preferred: true }, byWtxid)).toBe(0);
    expect(delayOf({ preferred: false }, byWtxid)).toBe(2000);
  });

  test('a txid is requested later if peers announce wtxids', () => {
    expect(delayOf({ preferred: true, wtxidRelay: false }, byTxid)).toBe(0);
    expect(delayOf({ preferred: true, wtxidRelay: false }, byTxid, [{ wtxidRelay: true }])).toBe(2000);
    expect(delayOf({ wtxidRelay: false }, byTxid, [{ wtxidRelay: true }])).toBe(4000);
  });

  test('the number of wtxid relay peers is correct after disconnections', () => {
    const t = new TestDownload();
    t.connect(1, { preferred: true, wtxidRelay: false });
    for (let times = 0; times < 2; times++) t.connect(2);
    t.download.disconnectedPeer(2);
    t.download.disconnectedPeer(2);
    const tx = madeUpTx();
    t.download.addTxAnnouncement(1, byTxid(tx));
    expect(t.download.requestsToSend(1)).toEqual([byTxid(tx)]);
  });

  test('a transaction found to be below the minimum feerate is still requested for a possible child', () => {
    const t = new TestDownload();
    t.connect(1, { preferred: true });
    const tx = madeUpTx();
    t.download.addTxAnnouncement(1, byWtxid(tx));
    t.recent.reconsiderable.insert(tx.wtxid);
    expect(t.download.requestsToSend(1)).toEqual([byWtxid(tx)]);
  });

  test('a received transaction completes requests by both ids', () => {
    for (const by of [byTxid, byWtxid]) {
      const t = new TestDownload();
      for (const peer of [1, 2]) t.connect(peer, { preferred: true, wtxidRelay: false });
      const tx = madeUpTx();
      for (const peer of [1, 2]) t.download.addTxAnnouncement(peer, by(tx));
      const asked = [1, 2].find((peer) => t.download.requestsToSend(peer).length > 0)!;
      expect(t.tracker.inFlight(asked)).toBe(1);
      t.download.receivedTx(asked, tx);
      expect([t.tracker.inFlight(asked), t.tracker.candidates(asked), t.tracker.count(asked)]).toEqual([0, 0, 1]);
    }
  });

  test('a peer with a hundred requests in flight is asked later', () => {
    for (const relayPermission of [false, true]) {
      const t = new TestDownload();
      t.connect(1, { preferred: true, relayPermission });
      for (let i = 0; i < 100; i++) t.download.addTxAnnouncement(1, byWtxid(madeUpTx()));
      expect(t.download.requestsToSend(1)).toHaveLength(100);
      t.download.addTxAnnouncement(1, byWtxid(madeUpTx()));
      expect(t.download.requestsToSend(1)).toHaveLength(relayPermission ? 1 : 0);
      t.clock.advance(2000);
      expect(t.download.requestsToSend(1)).toHaveLength(relayPermission ? 0 : 1);
    }
  });

  test('at most 5,000 announcements of a peer are stored', () => {
    const t = new TestDownload();
    t.connect(1);
    t.connect(2, { relayPermission: true });
    const id = (n: number) => {
      const hash = new Uint8Array(32);
      new DataView(hash.buffer).setUint32(0, n);
      return { by: 'wtxid', hash } as const;
    };
    for (const peer of [1, 2])
      for (let i = 0; i < 5003; i++) expect(t.download.addTxAnnouncement(peer, id(i))).toBe(false);
    expect([t.tracker.count(1), t.tracker.count(2)]).toEqual([5000, 5003]);
    // Parents of an orphan count as well.
    expect(t.reject(childOf([madeUpTx()]), 'missing-inputs', 1).missingParents).toHaveLength(1);
    expect([t.tracker.count(1), t.orphanage.count]).toEqual([5000, 0]);
  });

  test('another peer is asked after a minute or a notfound', () => {
    const t = new TestDownload();
    for (const peer of [1, 2, 3]) t.connect(peer, { preferred: peer === 1, wtxidRelay: peer !== 3 });
    const tx = madeUpTx({ witness: false });
    t.download.addTxAnnouncement(1, byWtxid(tx));
    expect(t.download.requestsToSend(1)).toEqual([byWtxid(tx)]);
    t.download.addTxAnnouncement(2, byWtxid(tx));
    t.clock.advance(59_999);
    expect(t.download.requestsToSend(2)).toEqual([]);
    t.clock.advance(1);
    expect(t.download.requestsToSend(2)).toEqual([byWtxid(tx)]);
    t.download.addTxAnnouncement(3, byTxid(tx));
    t.clock.advance(4000);
    expect(t.download.requestsToSend(3)).toEqual([]);
    t.download.receivedNotFound(2, tx.wtxid);
    expect(t.download.requestsToSend(3)).toEqual([byTxid(tx)]);
    t.download.disconnectedPeer(3);
    expect(t.tracker.size).toBe(0);
  });

  test('nothing is requested from unknown peers, and no known transaction', () => {
    const t = new TestDownload();
    const [kept, confirmed, later] = [madeUpTx(), madeUpTx(), madeUpTx()];
    expect(t.download.addTxAnnouncement(1, byWtxid(later))).toBe(false);
    expect(t.tracker.size).toBe(0);
    t.connect(1, { preferred: true });
    t.accept(kept);
    expect(t.download.blockConnected({ txs: [confirmed] } as unknown as ParsedBlock)).toEqual([]);
    for (const tx of [kept, confirmed])
      for (const by of [byTxid, byWtxid]) expect(t.download.addTxAnnouncement(1, by(tx))).toBe(true);
    t.download.addTxAnnouncement(1, byWtxid(later));
    t.mempool.add(later.wtxid.toHex());
    expect([t.download.requestsToSend(1), t.tracker.size]).toEqual([[], 0]);
    // After a reorganization it may be requested again.
    t.download.blockDisconnected();
    expect(t.download.addTxAnnouncement(1, byWtxid(confirmed))).toBe(false);
  });
});

/** For a transaction with a witness that fails: the recorded ids, and the announcements that are skipped. */
const BEHAVIOUR: Record<
  TxRejectKind,
  [txid: boolean, wtxid: boolean, reconsiderable: boolean, keep: boolean, txidKnown: boolean, wtxidKnown: boolean]
> = {
  consensus: [false, true, false, true, false, true],
  script: [false, true, false, true, false, true],
  'inputs-not-standard': [true, true, false, true, true, true],
  policy: [false, true, false, true, false, true],
  'missing-inputs': [false, false, false, true, false, true],
  'premature-spend': [false, true, false, true, false, true],
  'witness-mutated': [false, true, false, true, false, true],
  'witness-stripped': [false, false, false, false, false, false],
  conflict: [false, true, false, true, false, true],
  fee: [false, false, true, true, false, true],
};

describe('records of a rejected transaction', () => {
  for (const [name, expected] of Object.entries(BEHAVIOUR))
    for (const witness of [true, false])
      test(`${name}, ${witness ? 'with' : 'without'} a witness`, () => {
        const kind = name as TxRejectKind;
        const t = new TestDownload();
        t.connect(0);
        const parent = madeUpTx({ witness });
        const { rejected, reconsiderable } = t.recent;
        const { keepForBlocks, package: found } = t.reject(parent, kind, 0);
        expect(found).toBeNull();
        const of = (tx: ParsedTransaction) => [
          rejected.contains(tx.txid),
          rejected.contains(tx.wtxid),
          reconsiderable.contains(tx.wtxid),
          keepForBlocks,
          t.download.addTxAnnouncement(0, byTxid(tx)),
          t.download.addTxAnnouncement(0, byWtxid(tx)),
        ];
        const [txid, wtxid, poor, keep, txidKnown, wtxidKnown] = expected;
        expect(of(parent)).toEqual(
          witness
            ? [txid, wtxid, poor, keep, txidKnown, wtxidKnown]
            : [wtxid, wtxid, poor, keep, wtxidKnown, wtxidKnown],
        );
        // A child is rejected with a parent whose txid is.
        const child = childOf([parent]);
        t.reject(child, 'missing-inputs', 0);
        const hopeless = witness ? txid : wtxid;
        expect([rejected.contains(child.txid), rejected.contains(child.wtxid), t.orphanage.has(child.wtxid)]).toEqual([
          hopeless,
          hopeless,
          !hopeless,
        ]);
        t.download.activeTipChanged();
        expect([rejected.contains(parent.wtxid), reconsiderable.contains(parent.wtxid)]).toEqual([false, false]);
      });

  test('a rejected transaction is not requested from others, except after a stripped witness', () => {
    for (const [kind, left] of [
      ['policy', []],
      ['witness-stripped', [2]],
    ] as const) {
      const t = new TestDownload();
      for (const peer of [1, 2]) t.connect(peer, { preferred: true });
      const tx = madeUpTx();
      for (const peer of [1, 2]) t.download.addTxAnnouncement(peer, byWtxid(tx));
      expect(t.download.receivedTx(1, tx)).toEqual({ validate: true, package: null });
      t.reject(tx, kind, 1);
      expect(t.tracker.getCandidatePeers(tx.wtxid)).toEqual([...left]);
    }
  });

  test('a transaction that no witness can fix is not requested by its txid either', () => {
    const t = new TestDownload();
    t.connect(1, { wtxidRelay: false });
    const tx = madeUpTx();
    t.download.addTxAnnouncement(1, byTxid(tx));
    t.reject(tx, 'inputs-not-standard', 1);
    expect(t.tracker.size).toBe(0);
  });

  test('a second copy of an accepted transaction is no fault', () => {
    const t = new TestDownload();
    const tx = madeUpTx();
    t.accept(tx);
    expect(t.reject(tx, 'conflict', 2)).toEqual({ keepForBlocks: false, missingParents: [], package: null });
    expect(t.recent.rejected.contains(tx.wtxid)).toBe(false);
  });
});
