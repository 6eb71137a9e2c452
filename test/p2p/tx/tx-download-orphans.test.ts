import { describe, expect, test } from 'bun:test';
import { processPackageResult } from '../../../src/p2p/tx/package-result.ts';
import { packageHash } from '../../../src/policy/packages.ts';
import { type ParsedBlock, type ParsedTransaction, readTransaction } from '../../../src/primitives/block.ts';
import { hashToHex } from '../../../src/primitives/hash.ts';
import { ByteReader, concatBytes } from '../../../src/util/bytes.ts';
import { parsed } from '../../lib/mempool-fixture.ts';
import { withInput } from '../../lib/tx-builder.ts';
import { byTxid, byWtxid, childOf, madeUpTx, TestDownload } from './download-fixture.ts';

describe('orphans', () => {
  // The cases of Core's handle_missing_inputs.
  for (let known = 0; known < 16; known++)
    test(`an orphan whose parent is rejected, reconsiderable, confirmed, in the mempool: ${known.toString(2).padStart(4, '0')}`, () => {
      const t = new TestDownload();
      t.connect(1);
      const parent = madeUpTx();
      const [refused, poor, confirmed, inMempool] = [1, 2, 4, 8].map((bit) => (known & bit) !== 0);
      if (refused) t.recent.rejected.insert(parent.txid);
      if (poor) t.recent.reconsiderable.insert(parent.txid);
      if (confirmed) t.recent.confirmed.insert(parent.txid);
      if (inMempool) t.mempool.add(parent.txid.toHex());
      const orphan = childOf([parent]);
      const result = t.reject(orphan, 'missing-inputs', 1);
      expect(t.orphanage.has(orphan.wtxid)).toBe(!refused);
      const missing = refused || confirmed || inMempool ? [] : [parent.txid];
      expect(result).toEqual({ keepForBlocks: true, missingParents: missing, package: null });
    });

  test('one of many parents may be below the minimum feerate, but not two', () => {
    const parents = Array.from({ length: 24 }, () => madeUpTx());
    const orphan = childOf(parents);
    const missing = (prepare: (t: TestDownload) => void): number => {
      const t = new TestDownload();
      t.connect(1);
      prepare(t);
      const { missingParents } = t.reject(orphan, 'missing-inputs', 1);
      return t.orphanage.has(orphan.wtxid) ? missingParents.length : -1;
    };
    const [first, second] = parents as [ParsedTransaction, ParsedTransaction];
    expect(missing(({ recent }) => recent.reconsiderable.insert(first.txid))).toBe(24);
    const othersConfirmed = ({ recent }: TestDownload) => {
      recent.reconsiderable.insert(first.txid);
      for (const { txid } of parents.slice(1)) recent.confirmed.insert(txid);
    };
    expect(missing(othersConfirmed)).toBe(1);
    for (const filter of ['reconsiderable', 'rejected'] as const) {
      const both = ({ recent }: TestDownload) => {
        recent.reconsiderable.insert(first.txid);
        recent[filter].insert(second.txid);
      };
      expect(missing(both)).toBe(-1);
    }
  });

  test('a low-feerate parent that was accepted later does not count', () => {
    const t = new TestDownload();
    t.connect(1);
    const parents = [madeUpTx(), madeUpTx()] as const;
    for (const { txid } of parents) t.recent.reconsiderable.insert(txid);
    t.mempool.add(parents[0].txid.toHex());
    const orphan = childOf(parents);
    expect(t.reject(orphan, 'missing-inputs', 1).missingParents).toEqual([parents[1].txid]);
    expect(t.orphanage.has(orphan.wtxid)).toBe(true);
  });

  test('an orphan that was rejected before is not stored', () => {
    const t = new TestDownload();
    t.connect(1);
    const orphan = childOf([madeUpTx()]);
    t.recent.rejected.insert(orphan.wtxid);
    t.reject(orphan, 'missing-inputs', 1);
    expect([t.orphanage.count, t.tracker.size]).toEqual([0, 0]);
  });

  test('a second copy is stored once with both senders', () => {
    const t = new TestDownload();
    for (const peer of [1, 2]) t.connect(peer);
    const orphan = childOf([madeUpTx()]);
    expect(t.reject(orphan, 'missing-inputs', 1).keepForBlocks).toBe(true);
    expect(t.reject(orphan, 'missing-inputs', 2).keepForBlocks).toBe(false);
    expect([t.orphanage.count, t.orphanage.isFrom(orphan.wtxid, 2)]).toEqual([1, true]);
    // An announcement of a peer counts once.
    for (const { txid } of [orphan, ...orphan.tx.inputs.map(({ prevout }) => prevout)]) t.tracker.forgetTxHash(txid);
    t.download.addTxAnnouncement(2, byWtxid(orphan));
    expect(t.tracker.size).toBe(0);
  });

  test('parents of an orphan may be requested from a peer that announced it by txid', () => {
    const t = new TestDownload();
    t.connect(1);
    t.connect(2, { wtxidRelay: false });
    const parent = madeUpTx();
    const orphan = childOf([parent]);
    t.download.addTxAnnouncement(2, byTxid(orphan));
    t.reject(orphan, 'missing-inputs', 1);
    expect([t.orphanage.isFrom(orphan.wtxid, 2), t.tracker.getCandidatePeers(parent.txid).sort()]).toEqual([
      true,
      [1, 2],
    ]);
    expect(t.tracker.getCandidatePeers(orphan.txid)).toEqual([]);
  });

  test('two outputs of one low-feerate parent count as one parent', () => {
    const t = new TestDownload();
    t.connect(1);
    const parent = madeUpTx({ outputs: 2 });
    t.recent.reconsiderable.insert(parent.txid);
    const { missingParents } = t.reject(childOf([parent], [0, 1]), 'missing-inputs', 1);
    expect(missingParents).toEqual([parent.txid]);
    expect(t.orphanage.count).toBe(1);
  });

  test('parents are requested by txid from all announcers of the child', () => {
    const t = new TestDownload();
    for (const peer of [1, 2, 3, 4]) t.connect(peer, { preferred: true });
    const parent = madeUpTx();
    const orphan = childOf([parent]);
    for (const peer of [1, 2]) t.download.addTxAnnouncement(peer, byWtxid(orphan));
    const asked = [1, 2].find((peer) => t.download.requestsToSend(peer).length > 0)!;
    expect(t.download.receivedTx(asked, orphan).validate).toBe(true);
    t.reject(orphan, 'missing-inputs', asked);
    expect([1, 2, 3].map((peer) => t.orphanage.isFrom(orphan.wtxid, peer))).toEqual([true, true, false]);
    // It is not needed from others any more, but they may have its parents.
    expect(t.tracker.getCandidatePeers(orphan.wtxid)).toEqual([]);
    expect(t.download.addTxAnnouncement(3, byWtxid(orphan))).toBe(true);
    expect(t.orphanage.isFrom(orphan.wtxid, 3)).toBe(true);
    expect(t.tracker.getCandidatePeers(parent.txid).sort()).toEqual([1, 2, 3]);
    t.clock.advance(1999);
    expect([1, 2, 3].flatMap((peer) => t.download.requestsToSend(peer))).toEqual([]);
    t.clock.advance(1);
    expect([1, 2, 3].flatMap((peer) => t.download.requestsToSend(peer))).toEqual([byTxid(parent)]);

    expect(t.accept(parent)).toHaveLength(1);
    const worker = [1, 2, 3].find((peer) => t.download.haveMoreWork(peer))!;
    expect(t.download.txToReconsider(worker)).toEqual(orphan);
    expect([t.download.haveMoreWork(worker), t.download.txToReconsider(worker)]).toEqual([false, null]);
    // No parent is missing, and it stays until it is validated.
    expect(t.download.addTxAnnouncement(4, byWtxid(orphan))).toBe(true);
    expect(t.orphanage.isFrom(orphan.wtxid, 4)).toBe(false);
    t.reject(orphan, 'missing-inputs', worker, false);
    expect(t.orphanage.has(orphan.wtxid)).toBe(true);
    t.reject(orphan, 'script', worker, false);
    expect([t.orphanage.count, t.tracker.size]).toEqual([0, 0]);
  });

  test('blocks remove conflicting orphans and deliver parents', () => {
    const t = new TestDownload();
    t.connect(1);
    const [parent, other] = [madeUpTx(), madeUpTx()];
    const [waiting, contradicted] = [childOf([parent]), childOf([other])];
    for (const tx of [waiting, contradicted]) t.reject(tx, 'missing-inputs', 1);
    expect(t.tracker.size).toBe(2);
    const txs = [parent, childOf([other])];
    expect(t.download.blockConnected({ txs } as unknown as ParsedBlock)).toEqual([1]);
    expect(t.download.txToReconsider(1)).toEqual(waiting);
    expect([t.orphanage.count, t.tracker.getCandidatePeers(parent.txid)]).toEqual([1, []]);
    expect(t.download.receivedTx(1, parent)).toEqual({ validate: false, package: null });
  });

  test('orphans are removed with their last announcer', () => {
    const t = new TestDownload();
    t.connect(1);
    t.reject(childOf([madeUpTx()]), 'missing-inputs', 1);
    t.download.disconnectedPeer(1);
    expect([t.orphanage.count, t.tracker.size]).toEqual([0, 0]);
  });

  test('orphans do not keep the message they arrived in', () => {
    const t = new TestDownload();
    t.connect(1);
    const orphan = childOf([madeUpTx()]);
    const message = concatBytes(orphan.raw, new Uint8Array(1_000_000));
    t.reject(readTransaction(new ByteReader(message)), 'missing-inputs', 1);
    const kept = t.orphanage.byWtxid(orphan.wtxid)!;
    expect(kept).toEqual(orphan);
    expect(kept.tx.outputs[0]!.scriptPubKey.buffer.byteLength).toBe(orphan.raw.length);
  });
});

describe('low-feerate parents', () => {
  /** An orphan of peer 1, and its parent. */
  const family = () => {
    const t = new TestDownload();
    for (const peer of [1, 2]) t.connect(peer);
    const parent = madeUpTx();
    const child = childOf([parent]);
    t.reject(child, 'missing-inputs', 1);
    return { t, parent, child };
  };

  test('the parent is validated with a child of the same peer, newest first, each child once', () => {
    const { t, parent, child } = family();
    const newer = childOf([parent]);
    t.reject(newer, 'missing-inputs', 1);
    const first = { txs: [parent, newer], senders: [1, 1] } as const;
    expect(t.download.receivedTx(1, parent)).toEqual({ validate: true, package: null });
    expect(t.reject(parent, 'fee', 2).package).toBeNull();
    expect(t.reject(parent, 'fee', 1).package).toEqual(first);
    // In a package the result is not new.
    expect(t.reject(parent, 'fee', 1, false).package).toBeNull();
    t.download.mempoolRejectedPackage(first.txs);
    expect(t.recent.reconsiderable.contains(packageHash([newer.wtxid, parent.wtxid]))).toBe(true);
    const second = { txs: [parent, child], senders: [1, 1] };
    expect(t.download.receivedTx(1, parent)).toEqual({ validate: false, package: second as never });
    t.recent.rejected.insert(child.txid);
    expect(t.download.receivedTx(1, parent)).toEqual({ validate: false, package: null });
  });

  test('results of parent and child in a package are recorded', () => {
    const { t, parent, child } = family();
    const found = t.reject(parent, 'fee', 1).package!;
    const low = { kind: 'fee', reason: 'min relay fee not met' } as const;
    const of = { conflicts: [], missingInputs: [] };
    const results = new Map([
      [hashToHex(parent.wtxid), { status: 'rejected', rejection: low, ...of }],
      [hashToHex(child.wtxid), { status: 'rejected', rejection: { kind: 'missing-inputs', reason: '' }, ...of }],
    ] as const);
    const failed = { rejection: { kind: 'transaction', reason: 'transaction failed' } as const, results };
    expect(processPackageResult(t.download, found, failed)).toEqual({ accepted: [], working: [] });
    // The child stays, since another copy of its parent may be accepted.
    expect([t.orphanage.has(child.wtxid), t.download.receivedTx(1, parent).package]).toEqual([true, null]);

    const grandchild = childOf([child]);
    t.reject(grandchild, 'missing-inputs', 2);
    const effective = { fee: 1, vsize: 1, includes: [] };
    const accepted = { status: 'accepted', vsize: 1, fee: 1, effective, replaced: [] } as const;
    const good = { rejection: null, results: new Map([parent, child].map((tx) => [hashToHex(tx.wtxid), accepted])) };
    expect(processPackageResult(t.download, found, good)).toEqual({
      accepted: [
        { parsed: parent, sender: 1, replaced: [] },
        { parsed: child, sender: 1, replaced: [] },
      ],
      working: [2],
    });
    expect(t.orphanage.has(child.wtxid)).toBe(false);
    expect(t.download.txToReconsider(2)).toEqual(grandchild);
    t.download.activeTipChanged();
    processPackageResult(t.download, found, good);
    expect(t.recent.reconsiderable.contains(packageHash([parent.wtxid, child.wtxid]))).toBe(false);
  });

  test('a child with another witness is another child', () => {
    const { t, parent, child } = family();
    const spoilt = parsed(withInput(child.tx, 0, { witness: [Uint8Array.of(1)] }));
    t.reject(spoilt, 'missing-inputs', 1);
    expect(t.reject(parent, 'fee', 1).package?.txs[1]).toEqual(spoilt);
    t.download.mempoolRejectedPackage([parent, spoilt]);
    t.reject(spoilt, 'script', 1, false);
    expect(t.download.receivedTx(1, parent).package?.txs[1]).toEqual(child);
  });
});
