import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { sipHashKey } from '../../../src/crypto/siphash.ts';
import type { GenTxid } from '../../../src/p2p/tx/gen-txid.ts';
import { type ExpiredRequest, RequestTracker, requestPriority } from '../../../src/p2p/tx/request-tracker.ts';

const KEY = sipHashKey(3n, 4n);
const PEERS = 6;
const HASHES = Array.from({ length: 5 }, (_, i) => new Uint8Array(32).fill(i + 1));

interface Announcement {
  state: 'candidate' | 'requested' | 'completed';
  time: number;
  readonly by: GenTxid['by'];
  readonly priority: number;
  readonly sequence: number;
}

/** The tracker's behaviour with plain loops: the model of Core's fuzz test. */
class Model {
  /** Announcements by transaction, then by peer. */
  readonly announcements = HASHES.map(() => new Map<number, Announcement>());
  now = 0;
  #sequence = 0;

  announced(peer: number, tx: number, by: GenTxid['by'], preferred: boolean, time: number): void {
    const of = this.announcements[tx]!;
    if (of.has(peer)) return;
    const priority = requestPriority(KEY, HASHES[tx]!, peer, preferred);
    of.set(peer, { state: 'candidate', time, by, priority, sequence: this.#sequence++ });
  }

  requested(peer: number, tx: number, expiry: number): void {
    const announcement = this.announcements[tx]!.get(peer);
    if (announcement?.state !== 'candidate') return;
    for (const other of this.announcements[tx]!.values()) if (other.state === 'requested') other.state = 'completed';
    announcement.state = 'requested';
    announcement.time = expiry;
  }

  responded(peer: number, tx: number): void {
    const announcement = this.announcements[tx]!.get(peer);
    if (!announcement) return;
    announcement.state = 'completed';
    this.#clean(tx);
  }

  disconnected(peer: number): void {
    for (const [tx, of] of this.announcements.entries()) if (of.delete(peer)) this.#clean(tx);
  }

  requestable(peer: number, expired: ExpiredRequest[]): GenTxid[] {
    const found: { sequence: number; id: GenTxid }[] = [];
    for (const [tx, of] of this.announcements.entries()) {
      const hash = HASHES[tx]!;
      for (const [other, announcement] of of) {
        if (announcement.state !== 'requested' || announcement.time > this.now) continue;
        expired.push({ peer: other, id: { by: announcement.by, hash } });
        announcement.state = 'completed';
      }
      this.#clean(tx);
      if (this.#selected(tx) === peer) {
        const { by, sequence } = of.get(peer)!;
        found.push({ sequence, id: { by, hash } });
      }
    }
    return found.sort((a, b) => a.sequence - b.sequence).map(({ id }) => id);
  }

  counts(peer: number): number[] {
    const states = this.announcements.flatMap((of) => of.get(peer)?.state ?? []);
    const of = (state: string) => states.filter((one) => one === state).length;
    return [states.length, of('requested'), of('candidate')];
  }

  #selected(tx: number): number | null {
    let best: { peer: number; priority: number } | null = null;
    for (const [peer, { state, time, priority }] of this.announcements[tx]!) {
      if (state === 'requested') return null;
      if (state === 'candidate' && time <= this.now && (!best || priority > best.priority)) best = { peer, priority };
    }
    return best?.peer ?? null;
  }

  #clean(tx: number): void {
    const of = this.announcements[tx]!;
    if ([...of.values()].every(({ state }) => state === 'completed')) of.clear();
  }
}

const peer = fc.nat(PEERS - 1);
const tx = fc.nat(HASHES.length - 1);
const delay = fc.integer({ min: -5, max: 60 });
const step = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('announced' as const), peer, tx, fc.boolean(), fc.boolean(), delay) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('requested' as const), peer, tx, delay) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('ask' as const), peer, delay) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('responded' as const), peer, tx) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('forget' as const), tx) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('disconnected' as const), peer) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('time' as const), fc.nat(30)) },
);

const byPeer = (a: ExpiredRequest, b: ExpiredRequest) => a.peer - b.peer || a.id.hash[0]! - b.id.hash[0]!;

test('RequestTracker behaves as the model', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
      const tracker = new RequestTracker(KEY);
      const model = new Model();
      const ask = (of: number): GenTxid[] => {
        const [expired, expected]: ExpiredRequest[][] = [[], []];
        const ids = tracker.getRequestable(of, model.now, expired);
        expect(ids).toEqual(model.requestable(of, expected!));
        expect(expired!.sort(byPeer)).toEqual(expected!.sort(byPeer));
        return ids;
      };
      for (const action of steps) {
        switch (action[0]) {
          case 'announced': {
            const [, from, which, byWtxid, preferred, after] = action;
            const by = byWtxid ? 'wtxid' : 'txid';
            model.announced(from, which, by, preferred, model.now + after);
            tracker.receivedInv(from, { by, hash: HASHES[which]! }, preferred, model.now + after);
            break;
          }
          case 'requested': {
            const [, from, which, after] = action;
            model.requested(from, which, model.now + after);
            tracker.requestedTx(from, HASHES[which]!, model.now + after);
            break;
          }
          case 'ask': {
            const [, from, after] = action;
            for (const { hash } of ask(from)) {
              model.requested(from, hash[0]! - 1, model.now + after);
              tracker.requestedTx(from, hash, model.now + after);
            }
            break;
          }
          case 'responded':
            model.responded(action[1], action[2]);
            tracker.receivedResponse(action[1], HASHES[action[2]]!);
            break;
          case 'forget':
            model.announcements[action[1]]!.clear();
            tracker.forgetTxHash(HASHES[action[1]]!);
            break;
          case 'disconnected':
            model.disconnected(action[1]);
            tracker.disconnectedPeer(action[1]);
            break;
          case 'time':
            model.now += action[1];
        }
        for (let of = 0; of < PEERS; of++)
          expect([tracker.count(of), tracker.inFlight(of), tracker.candidates(of)]).toEqual(model.counts(of));
        for (const [which, of] of model.announcements.entries())
          expect(tracker.getCandidatePeers(HASHES[which]!).sort()).toEqual(
            [...of].flatMap(([from, { state }]) => (state === 'completed' ? [] : [from])).sort(),
          );
      }
      for (let of = 0; of < PEERS; of++) ask(of);
      for (let of = 0; of < PEERS; of++) tracker.disconnectedPeer(of);
      expect(tracker.size).toBe(0);
    }),
    { numRuns: 150 },
  );
});
