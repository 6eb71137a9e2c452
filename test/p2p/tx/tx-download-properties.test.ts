import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { TxRejectKind } from '../../../src/consensus/rejection.ts';
import type { PackageToValidate } from '../../../src/p2p/tx/tx-download.ts';
import type { ParsedBlock, ParsedTransaction } from '../../../src/primitives/block.ts';
import { byTxid, byWtxid, childOf, madeUpTx, TestDownload } from './download-fixture.ts';

/** Three generations: later ones spend earlier ones. */
const first = Array.from({ length: 3 }, (_, i) => madeUpTx({ witness: i > 0, outputs: 2 }));
const second = [childOf([first[0]!]), childOf([first[0]!, first[1]!]), childOf([first[2]!], [1])];
const TXS: readonly ParsedTransaction[] = [...first, ...second, childOf(second), childOf([second[0]!, first[2]!])];
const PEERS = 4;
const KINDS: readonly TxRejectKind[] = [
  'consensus',
  'policy',
  'inputs-not-standard',
  'witness-mutated',
  'witness-stripped',
  'fee',
  'fee',
  'missing-inputs',
  'missing-inputs',
  'missing-inputs',
];

const peer = fc.nat(PEERS - 1);
const tx = fc.nat(TXS.length - 1);
/** Index of a rejection kind, or null if the mempool accepts it. */
const outcome: fc.Arbitrary<number | null> = fc.option(fc.nat(KINDS.length - 1), { nil: null });
const step = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constant('announce' as const), peer, tx, fc.boolean()) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('ask' as const), peer, fc.nat(3000)) },
  { weight: 5, arbitrary: fc.tuple(fc.constant('receive' as const), peer, tx, outcome) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('work' as const), peer, outcome) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('notFound' as const), peer, tx) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('block' as const), fc.subarray([...TXS.keys()], { maxLength: 2 })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('tip' as const)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('reconnect' as const), peer) },
);

test('TxDownload never requests known transactions, nor one twice at a time, and forgets disconnected peers', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: 'max' }), (steps) => {
      const t = new TestDownload();
      const { download } = t;
      /** Unanswered requests: the peer by hash. */
      const asked = new Map<string, { peer: number; until: number }>();
      const connect = (of: number) => t.connect(of, { preferred: of % 2 === 0, wtxidRelay: of !== 3 });
      for (let of = 0; of < PEERS; of++) connect(of);
      const checkPackage = (found: PackageToValidate | null, from: number) => {
        if (!found) return;
        const [parent, child] = found.txs;
        expect(child.tx.inputs.some(({ prevout }) => prevout.txid.toHex() === parent.txid.toHex())).toBe(true);
        expect([found.senders, t.orphanage.isFrom(child.wtxid, from)]).toEqual([[from, from], true]);
        expect(t.recent.reconsiderable.contains(parent.wtxid)).toBe(true);
      };
      const settle = (of: ParsedTransaction, from: number, kind: number | null, isNew: boolean) => {
        if (kind === null) t.accept(of);
        else checkPackage(t.reject(of, KINDS[kind]!, from, isNew).package, from);
      };
      for (const action of steps) {
        switch (action[0]) {
          case 'announce': {
            const [, from, which, byWitness] = action;
            const of = TXS[which]!;
            const known = download.addTxAnnouncement(from, byWitness ? byWtxid(of) : byTxid(of));
            if (t.mempool.has(of.wtxid.toHex())) expect(known).toBe(true);
            break;
          }
          case 'ask': {
            t.clock.advance(action[2]);
            const now = t.clock.monotonicMs();
            for (const { hash } of download.requestsToSend(action[1])) {
              const id = hash.toHex();
              expect([t.mempool.has(id), t.orphanage.has(hash as never), t.recent.rejected.contains(hash)]).toEqual([
                false,
                false,
                false,
              ]);
              expect(asked.get(id)?.until ?? 0).toBeLessThanOrEqual(now);
              asked.set(id, { peer: action[1], until: now + 60_000 });
            }
            break;
          }
          case 'receive': {
            const [, from, which, kind] = action;
            const of = TXS[which]!;
            for (const id of [of.txid.toHex(), of.wtxid.toHex()]) if (asked.get(id)?.peer === from) asked.delete(id);
            const { validate, package: found } = download.receivedTx(from, of);
            checkPackage(found, from);
            if (t.mempool.has(of.wtxid.toHex())) expect([validate, found]).toEqual([false, null]);
            if (!validate) break;
            settle(of, from, kind, true);
            for (const id of [of.txid.toHex(), of.wtxid.toHex()])
              if (!t.tracker.getCandidatePeers(Uint8Array.fromHex(id)).includes(asked.get(id)?.peer ?? -1))
                asked.delete(id);
            break;
          }
          case 'work': {
            const has = download.haveMoreWork(action[1]);
            const of = download.txToReconsider(action[1]);
            expect(of !== null).toBe(has);
            if (of) settle(of, action[1], action[2], false);
            break;
          }
          case 'notFound':
            for (const hash of [TXS[action[2]]!.wtxid, TXS[action[2]]!.txid])
              download.receivedNotFound(action[1], hash);
            for (const id of [TXS[action[2]]!.txid.toHex(), TXS[action[2]]!.wtxid.toHex()])
              if (asked.get(id)?.peer === action[1]) asked.delete(id);
            break;
          case 'block': {
            const txs = action[1].map((which) => TXS[which]!);
            download.blockConnected({ txs } as unknown as ParsedBlock);
            for (const { txid, wtxid } of txs)
              for (const id of [txid.toHex(), wtxid.toHex()]) {
                t.mempool.delete(id);
                asked.delete(id);
              }
            break;
          }
          case 'tip':
            download.activeTipChanged();
            break;
          case 'reconnect': {
            download.disconnectedPeer(action[1]);
            expect([t.tracker.count(action[1]), download.haveMoreWork(action[1])]).toEqual([0, false]);
            for (const [id, { peer: of }] of asked) if (of === action[1]) asked.delete(id);
            connect(action[1]);
          }
        }
        // An announcement without a request at the tracker is no longer awaited.
        for (const [id, { peer: of }] of asked)
          if (!t.tracker.getCandidatePeers(Uint8Array.fromHex(id)).includes(of)) asked.delete(id);
      }
      for (let of = 0; of < PEERS; of++) download.disconnectedPeer(of);
      expect([t.tracker.size, t.orphanage.count]).toEqual([0, 0]);
    }),
    { numRuns: 100 },
  );
});
