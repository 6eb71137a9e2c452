import { MAX_STANDARD_TX_WEIGHT } from '../policy/standard-tx.ts';
import { type ParsedBlock, type ParsedTransaction, weightOf } from '../primitives/block.ts';
import { hashToHex, type Txid, type Wtxid } from '../primitives/hash.ts';
import { type Outpoint, outpointKey } from '../primitives/outpoint.ts';

/** Number of a peer. */
export type PeerId = number;

export interface OrphanageLimits {
  /** Weight reserved for each peer regardless of the others. */
  readonly weightPerPeer: number;
  /** Total latency score shared by all peers: one per announcement, and one per ten inputs. */
  readonly work: number;
}

const ORPHANAGE_LIMITS: OrphanageLimits = { weightPerPeer: 404_000, work: 3000 };

/** The announcement of an orphan by a peer. */
interface Announcement {
  readonly wtxid: string;
  readonly peer: PeerId;
  /** Whether a parent arrived and the orphan must be reconsidered. */
  reconsider: boolean;
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
  /** Number of announcements marked for reconsideration. */
  reconsider: number;
  /** By wtxid, oldest first. */
  readonly announcements: Map<string, Announcement>;
}

/**
 * Core's TxOrphanage: transactions whose parents are missing. Each peer's share is independent of the others: a peer
 * that exceeds it loses its own announcements, oldest first (CVE-2012-3789).
 */
export class Orphanage {
  readonly #limits: OrphanageLimits;
  /** By wtxid. */
  readonly #orphans = new Map<string, Orphan>();
  readonly #peers = new Map<PeerId, PeerShare>();
  /** Wtxids of the orphans that spend an outpoint, by outpoint. */
  readonly #spenders = new Map<string, Set<string>>();
  /** Total weight of the orphans, each counted once; and their latency score beyond one per announcement. */
  #weight = 0;
  #inputWork = 0;
  #announcements = 0;

  constructor(limits: OrphanageLimits = ORPHANAGE_LIMITS) {
    this.#limits = limits;
  }

  /** Number of distinct orphans. */
  get count(): number {
    return this.#orphans.size;
  }

  /** Total weight of distinct orphans. */
  get weight(): number {
    return this.#weight;
  }

  has(wtxid: Wtxid): boolean {
    return this.#orphans.has(hashToHex(wtxid));
  }

  byWtxid(wtxid: Wtxid): ParsedTransaction | null {
    return this.#orphans.get(hashToHex(wtxid))?.parsed ?? null;
  }

  isFrom(wtxid: Wtxid, peer: PeerId): boolean {
    return this.#orphans.get(hashToHex(wtxid))?.announcements.has(peer) ?? false;
  }

  /** Yields all orphans with the peers that announced them. */
  *all(): Generator<{ readonly parsed: ParsedTransaction; readonly peers: readonly PeerId[] }> {
    for (const { parsed, announcements } of this.#orphans.values()) yield { parsed, peers: [...announcements.keys()] };
  }

  /** Stores an orphan of a peer. Returns false if it is known, too large, or was evicted at once. */
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
    this.#addAnnouncement(wtxid, peer);
    this.#limitOrphans();
    return !known && this.#orphans.has(wtxid);
  }

  /** Records that another peer announced an orphan. */
  addAnnouncer(wtxid: Wtxid, peer: PeerId): boolean {
    const key = hashToHex(wtxid);
    const orphan = this.#orphans.get(key);
    if (!orphan || orphan.announcements.has(peer)) return false;
    this.#addAnnouncement(key, peer);
    this.#limitOrphans();
    return true;
  }

  remove(wtxid: Wtxid): boolean {
    const removed = this.#removeOrphan(hashToHex(wtxid));
    this.#limitOrphans();
    return removed;
  }

  /** Removes a peer's announcements, and the orphans that no other peer announced. */
  removePeer(peer: PeerId): void {
    for (const announcement of [...(this.#peers.get(peer)?.announcements.values() ?? [])])
      this.#removeAnnouncement(announcement);
    // The total weight limit depends on the number of peers.
    this.#limitOrphans();
  }

  /** Removes orphans that a connected block includes or conflicts with, and returns their number. */
  removeForBlock({ txs }: ParsedBlock): number {
    if (this.#orphans.size === 0) return 0;
    const gone = new Set<string>();
    for (const { tx } of txs)
      for (const { prevout } of tx.inputs)
        for (const wtxid of this.#spenders.get(outpointKey(prevout)) ?? []) gone.add(wtxid);
    for (const wtxid of gone) this.#removeOrphan(wtxid);
    this.#limitOrphans();
    return gone.size;
  }

  /**
   * Marks the orphans that spend outputs of a new transaction for reconsideration, each once and for one of its
   * announcers. `pick` returns a random number below its argument. Returns the chosen peers.
   */
  addChildrenToWorkSet({ txid, tx }: ParsedTransaction, pick: (below: number) => number): PeerId[] {
    if (this.#orphans.size === 0) return [];
    const peers = new Set<PeerId>();
    for (let vout = 0; vout < tx.outputs.length; vout++)
      for (const wtxid of this.#spenders.get(outpointKey({ txid, vout })) ?? []) {
        const announcements = [...this.#orphans.get(wtxid)!.announcements.values()];
        if (announcements.some(({ reconsider }) => reconsider)) continue;
        const chosen = announcements[pick(announcements.length)]!;
        chosen.reconsider = true;
        this.#peers.get(chosen.peer)!.reconsider++;
        peers.add(chosen.peer);
      }
    return [...peers];
  }

  /** Returns the next orphan to reconsider for a peer, oldest first, and clears its mark. */
  nextToReconsider(peer: PeerId): ParsedTransaction | null {
    const share = this.#peers.get(peer);
    if (!share || share.reconsider === 0) return null;
    for (const announcement of share.announcements.values()) {
      if (!announcement.reconsider) continue;
      announcement.reconsider = false;
      share.reconsider--;
      return this.#orphans.get(announcement.wtxid)!.parsed;
    }
    return null;
  }

  hasToReconsider(peer: PeerId): boolean {
    return (this.#peers.get(peer)?.reconsider ?? 0) > 0;
  }

  /** Returns the orphans of a peer that spend an output of a transaction, newest first. */
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

  #addAnnouncement(wtxid: string, peer: PeerId): void {
    const orphan = this.#orphans.get(wtxid)!;
    if (orphan.announcements.has(peer)) return;
    const announcement = { wtxid, peer, reconsider: false };
    orphan.announcements.set(peer, announcement);
    let share = this.#peers.get(peer);
    if (!share) this.#peers.set(peer, (share = { weight: 0, work: 0, reconsider: 0, announcements: new Map() }));
    share.announcements.set(wtxid, announcement);
    share.weight += orphan.weight;
    share.work += orphan.work;
    this.#announcements++;
  }

  #removeAnnouncement({ wtxid, peer, reconsider }: Announcement): void {
    const orphan = this.#orphans.get(wtxid)!;
    const share = this.#peers.get(peer)!;
    orphan.announcements.delete(peer);
    share.announcements.delete(wtxid);
    share.weight -= orphan.weight;
    share.work -= orphan.work;
    if (reconsider) share.reconsider--;
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

  #removeOrphan(wtxid: string): boolean {
    const orphan = this.#orphans.get(wtxid);
    for (const announcement of [...(orphan?.announcements.values() ?? [])]) this.#removeAnnouncement(announcement);
    return orphan !== undefined;
  }

  #needsTrim(): boolean {
    return (
      this.#announcements + this.#inputWork > this.#limits.work ||
      this.#weight > this.#limits.weightPerPeer * this.#peers.size
    );
  }

  /** Core's LimitOrphans: while a limit is exceeded, the peer with the highest score loses its oldest announcement. */
  #limitOrphans(): void {
    if (!this.#needsTrim()) return;
    // The limits stay the same during the trimming, even if a peer loses all its announcements.
    const workPerPeer = this.#limits.work / Math.max(1, this.#peers.size);
    const scoreOf = ({ work, weight }: PeerShare) => Math.max(work / workPerPeer, weight / this.#limits.weightPerPeer);
    while (this.#needsTrim()) {
      let worst: { score: number; peer: PeerId; share: PeerShare } | null = null;
      for (const [peer, share] of this.#peers) {
        const score = scoreOf(share);
        if (!worst || score > worst.score || (score === worst.score && peer > worst.peer))
          worst = { score, peer, share };
      }
      const announcements = [...worst!.share.announcements.values()];
      this.#removeAnnouncement(announcements.find(({ reconsider }) => !reconsider) ?? announcements[0]!);
    }
  }
}
