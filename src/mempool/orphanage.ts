import { MAX_STANDARD_TX_WEIGHT } from '../policy/standard-tx.ts';
import { type ParsedBlock, type ParsedTransaction, weightOf } from '../primitives/block.ts';
import { hashToHex, type Txid, type Wtxid } from '../primitives/hash.ts';
import { type Outpoint, outpointKey } from '../primitives/outpoint.ts';

/** A peer, by its number. */
export type PeerId = number;

export interface OrphanageLimits {
  /** Weight that each peer may have kept whatever others do. */
  readonly weightPerPeer: number;
  /** Work of all, which the peers share: one for each announcement, and one for every ten inputs. */
  readonly work: number;
}

const ORPHANAGE_LIMITS: OrphanageLimits = { weightPerPeer: 404_000, work: 3000 };

/** One peer's word that there is such an orphan. */
interface Announcement {
  readonly wtxid: string;
  readonly peer: PeerId;
  /** A parent has come since: it is worth another look. */
  ready: boolean;
}

interface Orphan {
  readonly parsed: ParsedTransaction;
  readonly weight: number;
  readonly work: number;
  readonly announcements: Map<PeerId, Announcement>;
}

interface PeerShare {
  weight: number;
  work: number;
  /** Announcements that are ready. */
  ready: number;
  /** By wtxid, the oldest first. */
  readonly announcements: Map<string, Announcement>;
}

/**
 * Transactions whose parents have not come yet. What a peer may have kept here does not depend on the others: whoever
 * brings too much loses its own, the oldest first (CVE-2012-3789, and what was learnt since).
 */
export class Orphanage {
  readonly #limits: OrphanageLimits;
  /** By wtxid. */
  readonly #orphans = new Map<string, Orphan>();
  readonly #peers = new Map<PeerId, PeerShare>();
  /** By outpoint: wtxids of the orphans that spend it. */
  readonly #spenders = new Map<string, Set<string>>();
  /** Of each orphan once, and one for each announcement of inputs beyond it. */
  #weight = 0;
  #inputWork = 0;
  #announcements = 0;

  constructor(limits: OrphanageLimits = ORPHANAGE_LIMITS) {
    this.#limits = limits;
  }

  /** Orphans, each once. */
  get count(): number {
    return this.#orphans.size;
  }

  /** Of all orphans, each once. */
  get weight(): number {
    return this.#weight;
  }

  has(wtxid: Wtxid): boolean {
    return this.#orphans.has(hashToHex(wtxid));
  }

  get(wtxid: Wtxid): ParsedTransaction | null {
    return this.#orphans.get(hashToHex(wtxid))?.parsed ?? null;
  }

  isFrom(wtxid: Wtxid, peer: PeerId): boolean {
    return this.#orphans.get(hashToHex(wtxid))?.announcements.has(peer) ?? false;
  }

  /** All that are kept, with the peers that have them. */
  *all(): Generator<{ readonly parsed: ParsedTransaction; readonly peers: readonly PeerId[] }> {
    for (const { parsed, announcements } of this.#orphans.values()) yield { parsed, peers: [...announcements.keys()] };
  }

  /** Keeps a transaction of a peer. False where it was there already, is too large, or found no room. */
  add(parsed: ParsedTransaction, peer: PeerId): boolean {
    const weight = weightOf(parsed);
    if (weight > MAX_STANDARD_TX_WEIGHT) return false;
    const wtxid = hashToHex(parsed.wtxid);
    const known = this.#orphans.get(wtxid);
    if (!known) {
      const orphan = { parsed, weight, work: 1 + Math.floor(parsed.tx.inputs.length / 10), announcements: new Map() };
      this.#orphans.set(wtxid, orphan);
      this.#weight += weight;
      this.#inputWork += orphan.work - 1;
      for (const { prevout } of parsed.tx.inputs) this.#spendersOf(prevout).add(wtxid);
    }
    this.#announce(wtxid, peer);
    this.#limit();
    return !known && this.#orphans.has(wtxid);
  }

  /** Another peer has it, too. */
  addAnnouncer(wtxid: Wtxid, peer: PeerId): boolean {
    const key = hashToHex(wtxid);
    const orphan = this.#orphans.get(key);
    if (!orphan || orphan.announcements.has(peer)) return false;
    this.#announce(key, peer);
    this.#limit();
    return true;
  }

  remove(wtxid: Wtxid): boolean {
    const removed = this.#removeAll(hashToHex(wtxid));
    this.#limit();
    return removed;
  }

  /** The peer is gone, and with it what nobody else has. */
  removePeer(peer: PeerId): void {
    for (const announcement of [...(this.#peers.get(peer)?.announcements.values() ?? [])]) this.#withdraw(announcement);
    // With fewer peers there is less room.
    this.#limit();
  }

  /** A block has joined the chain: what is in it, or spends what it spends, will not be needed. */
  removeForBlock({ txs }: ParsedBlock): void {
    if (this.#orphans.size === 0) return;
    const gone = new Set<string>();
    for (const { tx } of txs)
      for (const { prevout } of tx.inputs)
        for (const wtxid of this.#spenders.get(outpointKey(prevout)) ?? []) gone.add(wtxid);
    for (const wtxid of gone) this.#removeAll(wtxid);
    this.#limit();
  }

  /**
   * A transaction has come that others may have waited for: each of them is to be looked at again, once, on behalf of one
   * of the peers that have it. `pick` chooses which, from 0 up to below its argument. Returns those peers.
   */
  parentArrived({ txid, tx }: ParsedTransaction, pick: (below: number) => number): PeerId[] {
    if (this.#orphans.size === 0) return [];
    const peers = new Set<PeerId>();
    for (let vout = 0; vout < tx.outputs.length; vout++)
      for (const wtxid of this.#spenders.get(outpointKey({ txid, vout })) ?? []) {
        const announcements = [...this.#orphans.get(wtxid)!.announcements.values()];
        if (announcements.some(({ ready }) => ready)) continue;
        const chosen = announcements[pick(announcements.length)]!;
        chosen.ready = true;
        this.#peers.get(chosen.peer)!.ready++;
        peers.add(chosen.peer);
      }
    return [...peers];
  }

  /** The next orphan to look at again for a peer, the oldest first; it is not handed out again without a new reason. */
  nextReady(peer: PeerId): ParsedTransaction | null {
    const share = this.#peers.get(peer);
    if (!share || share.ready === 0) return null;
    for (const announcement of share.announcements.values()) {
      if (!announcement.ready) continue;
      announcement.ready = false;
      share.ready--;
      return this.#orphans.get(announcement.wtxid)!.parsed;
    }
    return null;
  }

  hasReady(peer: PeerId): boolean {
    return (this.#peers.get(peer)?.ready ?? 0) > 0;
  }

  /** Orphans of a peer that spend an output of a transaction, the newest first. */
  childrenFrom(peer: PeerId, parent: Txid): ParsedTransaction[] {
    const id = hashToHex(parent);
    return [...(this.#peers.get(peer)?.announcements.keys() ?? [])]
      .reverse()
      .map((wtxid) => this.#orphans.get(wtxid)!.parsed)
      .filter(({ tx }) => tx.inputs.some(({ prevout }) => hashToHex(prevout.txid) === id));
  }

  #spendersOf(outpoint: Outpoint): Set<string> {
    const key = outpointKey(outpoint);
    let spenders = this.#spenders.get(key);
    if (!spenders) this.#spenders.set(key, (spenders = new Set()));
    return spenders;
  }

  #announce(wtxid: string, peer: PeerId): void {
    const orphan = this.#orphans.get(wtxid)!;
    if (orphan.announcements.has(peer)) return;
    const announcement = { wtxid, peer, ready: false };
    orphan.announcements.set(peer, announcement);
    let share = this.#peers.get(peer);
    if (!share) this.#peers.set(peer, (share = { weight: 0, work: 0, ready: 0, announcements: new Map() }));
    share.announcements.set(wtxid, announcement);
    share.weight += orphan.weight;
    share.work += orphan.work;
    this.#announcements++;
  }

  #withdraw({ wtxid, peer, ready }: Announcement): void {
    const orphan = this.#orphans.get(wtxid)!;
    const share = this.#peers.get(peer)!;
    orphan.announcements.delete(peer);
    share.announcements.delete(wtxid);
    share.weight -= orphan.weight;
    share.work -= orphan.work;
    if (ready) share.ready--;
    this.#announcements--;
    if (share.announcements.size === 0) this.#peers.delete(peer);
    if (orphan.announcements.size > 0) return;
    this.#orphans.delete(wtxid);
    this.#weight -= orphan.weight;
    this.#inputWork -= orphan.work - 1;
    for (const { prevout } of orphan.parsed.tx.inputs) {
      const key = outpointKey(prevout);
      const spenders = this.#spenders.get(key);
      spenders?.delete(wtxid);
      if (spenders?.size === 0) this.#spenders.delete(key);
    }
  }

  #removeAll(wtxid: string): boolean {
    const orphan = this.#orphans.get(wtxid);
    for (const announcement of [...(orphan?.announcements.values() ?? [])]) this.#withdraw(announcement);
    return orphan !== undefined;
  }

  #isOver(): boolean {
    return (
      this.#announcements + this.#inputWork > this.#limits.work ||
      this.#weight > this.#limits.weightPerPeer * this.#peers.size
    );
  }

  /** As long as there is too much, whoever has the largest part of what it may loses its oldest. */
  #limit(): void {
    if (!this.#isOver()) return;
    // The same for the whole of it, also where a peer loses all it has.
    const workPerPeer = this.#limits.work / Math.max(1, this.#peers.size);
    const scoreOf = ({ work, weight }: PeerShare) => Math.max(work / workPerPeer, weight / this.#limits.weightPerPeer);
    while (this.#isOver()) {
      let worst: { score: number; peer: PeerId; share: PeerShare } | null = null;
      for (const [peer, share] of this.#peers) {
        const score = scoreOf(share);
        if (!worst || score > worst.score || (score === worst.score && peer > worst.peer))
          worst = { score, peer, share };
      }
      const announcements = [...worst!.share.announcements.values()];
      this.#withdraw(announcements.find(({ ready }) => !ready) ?? announcements[0]!);
    }
  }
}
