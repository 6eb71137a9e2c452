import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Orphanage } from '../../src/mempool/orphanage.ts';
import type { ParsedBlock, ParsedTransaction } from '../../src/primitives/block.ts';
import { weightOf } from '../../src/primitives/block.ts';
import { parsed } from '../lib/mempool-fixture.ts';
import { coinOf, madeUpCoin, spend } from '../lib/tx-builder.ts';

let next = 1;
const first = () => 0;
/** Returns a transaction that spends this number of made-up coins. */
const orphan = (inputs = 1): ParsedTransaction =>
  parsed(
    spend(
      Array.from({ length: inputs }, () => madeUpCoin('anyone', 1000n, next++)),
      [{ to: 'anyone', value: 500n }],
    ),
  );
const childOf = (parent: ParsedTransaction): ParsedTransaction =>
  parsed(spend(coinOf(parent.tx, 0), [{ to: 'anyone', value: BigInt(next++) }]));

describe('Orphanage', () => {
  test('an orphan is stored once with all peers that announced it', () => {
    const orphanage = new Orphanage();
    const tx = orphan();
    expect(orphanage.add(tx, 1)).toBe(true);
    expect(orphanage.add(tx, 1)).toBe(false);
    expect(orphanage.add(tx, 2)).toBe(false);
    expect(orphanage.addAnnouncer(tx.wtxid, 3)).toBe(true);
    expect(orphanage.addAnnouncer(tx.wtxid, 3)).toBe(false);
    expect(orphanage.addAnnouncer(orphan().wtxid, 3)).toBe(false);
    expect([...orphanage.all()]).toEqual([{ parsed: tx, peers: [1, 2, 3] }]);
    expect([orphanage.count, orphanage.weight]).toEqual([1, weightOf(tx)]);
    orphanage.removePeer(1);
    orphanage.removePeer(3);
    expect([orphanage.has(tx.wtxid), orphanage.isFrom(tx.wtxid, 1), orphanage.isFrom(tx.wtxid, 2)]).toEqual([
      true,
      false,
      true,
    ]);
    orphanage.removePeer(2);
    expect([orphanage.count, orphanage.weight]).toEqual([0, 0]);
  });

  test('an orphan is reconsidered once, for one of its peers, when a parent arrives', () => {
    const orphanage = new Orphanage();
    const parent = orphan();
    const [a, b] = [childOf(parent), childOf(parent)];
    orphanage.add(a, 1);
    orphanage.add(a, 2);
    orphanage.add(b, 2);
    orphanage.add(orphan(), 1);
    expect(orphanage.addChildrenToWorkSet(parent, (below) => below - 1)).toEqual([2]);
    expect(orphanage.hasToReconsider(1)).toBe(false);
    expect([orphanage.nextToReconsider(2), orphanage.nextToReconsider(2), orphanage.nextToReconsider(2)]).toEqual([
      a,
      b,
      null,
    ]);
    expect(orphanage.addChildrenToWorkSet(parent, first)).toEqual([1, 2]);
    expect(orphanage.nextToReconsider(1)).toEqual(a);
    expect(orphanage.childrenFrom(2, parent.txid)).toEqual([b, a]);
    expect(orphanage.childrenFrom(3, parent.txid)).toEqual([]);
  });

  test('orphans that a block includes or conflicts with are removed', () => {
    const orphanage = new Orphanage();
    const parent = orphan();
    const [mined, rival, other] = [childOf(parent), childOf(parent), orphan()];
    for (const tx of [mined, rival, other]) orphanage.add(tx, 1);
    orphanage.removeForBlock({ txs: [parent, mined] } as unknown as ParsedBlock);
    expect([...orphanage.all()].map(({ parsed: { txid } }) => txid)).toEqual([other.txid]);
  });

  test('a peer above its share loses its own oldest orphans and no other peer loses any', () => {
    const orphanage = new Orphanage({ work: 20, weightPerPeer: 404_000 });
    const kept = [orphan(), orphan()];
    for (const tx of kept) orphanage.add(tx, 1);
    const flood = Array.from({ length: 100 }, () => orphan());
    for (const tx of flood) orphanage.add(tx, 2);
    for (const tx of kept) expect(orphanage.isFrom(tx.wtxid, 1)).toBe(true);
    expect(flood.map(({ wtxid }) => orphanage.has(wtxid))).toEqual(flood.map((_, i) => i >= 100 - 18));
    // Many inputs have the same latency score as many orphans.
    const wide = orphan(55);
    orphanage.add(wide, 2);
    expect(orphanage.count).toBe(2 + 18 - 6 + 1);
    // Orphans marked for reconsideration are evicted last.
    const parent = orphan();
    const waiting = childOf(parent);
    orphanage.add(waiting, 2);
    orphanage.addChildrenToWorkSet(parent, first);
    for (let i = 0; i < 40; i++) orphanage.add(orphan(), 2);
    expect(orphanage.nextToReconsider(2)).toEqual(waiting);
  });

  test('oversized orphans are rejected, and the weight per peer is bounded', () => {
    const orphanage = new Orphanage({ work: 3000, weightPerPeer: 10_000 });
    expect(orphanage.add(orphan(2600), 1)).toBe(false);
    for (let i = 0; i < 200; i++) orphanage.add(orphan(), 1);
    expect(orphanage.weight).toBeLessThanOrEqual(10_000);
    const before = orphanage.count;
    for (let i = 0; i < 10; i++) orphanage.add(orphan(), 2);
    expect(orphanage.count).toBe(before + 10);
    orphanage.removePeer(2);
    expect(orphanage.weight).toBeLessThanOrEqual(10_000);
  });

  test('the limits and indexes stay consistent through random operations', () => {
    const pool = Array.from({ length: 12 }, (_, i) => orphan(1 + (i % 4) * 10));
    const step = fc.record({
      what: fc.constantFrom('add', 'announce', 'remove', 'peer', 'block', 'parent', 'next'),
      tx: fc.nat(11),
      peer: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const orphanage = new Orphanage({ work: 9, weightPerPeer: 6000 });
        for (const { what, tx: at, peer } of steps) {
          const tx = pool[at]!;
          if (what === 'add') orphanage.add(tx, peer);
          if (what === 'announce') orphanage.addAnnouncer(tx.wtxid, peer);
          if (what === 'remove') orphanage.remove(tx.wtxid);
          if (what === 'peer') orphanage.removePeer(peer);
          if (what === 'block') orphanage.removeForBlock({ txs: [tx] } as unknown as ParsedBlock);
          if (what === 'parent') orphanage.addChildrenToWorkSet(tx, first);
          if (what === 'next') orphanage.nextToReconsider(peer);
          const all = [...orphanage.all()];
          expect(orphanage.weight).toBe(all.reduce((sum, each) => sum + weightOf(each.parsed), 0));
          expect(orphanage.weight).toBeLessThanOrEqual(6000 * 4);
          const work = all.reduce(
            (sum, each) => sum + each.peers.length + Math.floor(each.parsed.tx.inputs.length / 10),
            0,
          );
          expect(work).toBeLessThanOrEqual(9);
          expect(all.every(({ peers }) => peers.length > 0)).toBe(true);
        }
        for (let peer = 0; peer < 4; peer++) orphanage.removePeer(peer);
        expect([orphanage.count, orphanage.weight]).toEqual([0, 0]);
      }),
      { numRuns: 200 },
    );
  });
});
