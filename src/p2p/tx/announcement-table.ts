import type { PeerId } from '../../mempool/orphanage.ts';
import { grown, grownRows } from '../../util/column.ts';
import { SlotIndex } from '../../util/slot-index.ts';

/** Where the word of a peer that it has a transaction has got to. */
export const ANNOUNCEMENT = {
  /** May not be asked for yet. */
  delayed: 0,
  ready: 1,
  /** The best of those that are ready, while none is requested. */
  best: 2,
  requested: 3,
  /** Asked for, and answered or not; kept so that the peer is not asked again. */
  completed: 4,
} as const;
export type AnnouncementState = (typeof ANNOUNCEMENT)[keyof typeof ANNOUNCEMENT];

export interface NewAnnouncement {
  readonly peer: PeerId;
  readonly hash: Uint8Array;
  readonly byWtxid: boolean;
  readonly priority: number;
  readonly time: number;
}

interface PeerCounts {
  total: number;
  requested: number;
  completed: number;
  /** First of its chains: those in state `best`, and all others. */
  best: number;
  other: number;
}

const HASH = 32;
const INITIAL = 64;
const NONE = -1;

/**
 * Announcements in columns, 160 bytes each at most: peers may bring half a million of them, and as objects these would
 * take several times as much. Each has a slot, and is chained with those of its transaction and with those of its peer.
 */
export class AnnouncementTable {
  #capacity = INITIAL;
  #state = new Uint8Array(INITIAL);
  #byWtxid = new Uint8Array(INITIAL);
  #peer = new Float64Array(INITIAL);
  #priority = new Float64Array(INITIAL);
  #sequence = new Float64Array(INITIAL);
  #time = new Float64Array(INITIAL);
  /** The transaction's own slot. */
  #tx = new Int32Array(INITIAL);
  #nextOfTx = new Int32Array(INITIAL);
  #nextOfPeer = new Int32Array(INITIAL);
  #previousOfPeer = new Int32Array(INITIAL);
  #slots = 0;
  readonly #free: number[] = [];
  #nextSequence = 0;

  #txCapacity = INITIAL;
  #hashes = new Uint8Array(INITIAL * HASH);
  #first = new Int32Array(INITIAL);
  /** The announcement that is best or requested: there is one at most. */
  #selected = new Int32Array(INITIAL);
  /** Announcements that are not completed. */
  #live = new Int32Array(INITIAL);
  #txSlots = 0;
  readonly #freeTxs: number[] = [];
  readonly #byHash = new SlotIndex(HASH, () => this.#hashes);
  readonly #peers = new Map<PeerId, PeerCounts>();

  get size(): number {
    return this.#slots - this.#free.length;
  }

  /** Announcements of a peer: all, requested, completed. */
  counts(peer: PeerId): Readonly<Pick<PeerCounts, 'total' | 'requested' | 'completed'>> | null {
    return this.#peers.get(peer) ?? null;
  }

  /** The slot of a transaction, or -1. */
  findTx(hash: Uint8Array): number {
    return this.#byHash.find(hash);
  }

  /** The slot of a peer's announcement of a transaction, or -1. */
  find(peer: PeerId, hash: Uint8Array): number {
    const tx = this.#byHash.find(hash);
    if (tx < 0) return NONE;
    for (let slot = this.#first[tx]!; slot >= 0; slot = this.#nextOfTx[slot]!)
      if (this.#peer[slot] === peer) return slot;
    return NONE;
  }

  /** Announcements of a transaction, in no order. The table must not change meanwhile. */
  *ofTx(tx: number): Generator<number> {
    for (let slot = this.#first[tx]!; slot >= 0; slot = this.#nextOfTx[slot]!) yield slot;
  }

  /** Announcements of a peer, in no order: those in state `best`, or all others. */
  ofPeer(peer: PeerId, chain: 'best' | 'other'): number[] {
    const slots: number[] = [];
    for (let slot = this.#peers.get(peer)?.[chain] ?? NONE; slot >= 0; slot = this.#nextOfPeer[slot]!) slots.push(slot);
    return slots;
  }

  selected(tx: number): number {
    return this.#selected[tx]!;
  }

  live(tx: number): number {
    return this.#live[tx]!;
  }

  hash(tx: number): Uint8Array {
    return this.#hashes.slice(tx * HASH, (tx + 1) * HASH);
  }

  tx(slot: number): number {
    return this.#tx[slot]!;
  }

  state(slot: number): AnnouncementState {
    return this.#state[slot] as AnnouncementState;
  }

  peer(slot: number): PeerId {
    return this.#peer[slot]!;
  }

  byWtxid(slot: number): boolean {
    return this.#byWtxid[slot] === 1;
  }

  priority(slot: number): number {
    return this.#priority[slot]!;
  }

  /** Grows from one announcement to the next. */
  sequence(slot: number): number {
    return this.#sequence[slot]!;
  }

  time(slot: number): number {
    return this.#time[slot]!;
  }

  setTime(slot: number, time: number): void {
    this.#time[slot] = time;
  }

  /** Adds one that is delayed; the peer must not have announced the transaction before. */
  add({ peer, hash, byWtxid, priority, time }: NewAnnouncement): number {
    const slot = this.#free.pop() ?? this.#slots++;
    if (slot >= this.#capacity) this.#grow();
    let tx = this.#byHash.find(hash);
    if (tx < 0) tx = this.#addTx(hash);
    this.#state[slot] = ANNOUNCEMENT.delayed;
    this.#byWtxid[slot] = byWtxid ? 1 : 0;
    this.#peer[slot] = peer;
    this.#priority[slot] = priority;
    this.#sequence[slot] = this.#nextSequence++;
    this.#time[slot] = time;
    this.#tx[slot] = tx;
    this.#nextOfTx[slot] = this.#first[tx]!;
    this.#first[tx] = slot;
    this.#live[tx]!++;
    let counts = this.#peers.get(peer);
    if (!counts) this.#peers.set(peer, (counts = { total: 0, requested: 0, completed: 0, best: NONE, other: NONE }));
    counts.total++;
    this.#chain(slot, counts, 'other');
    return slot;
  }

  /** Not of one that is completed: that is the end. */
  setState(slot: number, state: AnnouncementState): void {
    const before = this.state(slot);
    const tx = this.#tx[slot]!;
    const counts = this.#peers.get(this.#peer[slot]!)!;
    count(counts, before, -1);
    count(counts, state, 1);
    if (state === ANNOUNCEMENT.completed) this.#live[tx]!--;
    if (this.#selected[tx] === slot) this.#selected[tx] = NONE;
    if (isSelected(state)) this.#selected[tx] = slot;
    this.#state[slot] = state;
    const [from, to] = [chainOf(before), chainOf(state)];
    if (from === to) return;
    this.#unchain(slot, counts, from);
    this.#chain(slot, counts, to);
  }

  /** Takes out an announcement, and its transaction with the last of them. */
  remove(slot: number): void {
    const tx = this.#tx[slot]!;
    const peer = this.#peer[slot]!;
    const counts = this.#peers.get(peer)!;
    const state = this.state(slot);
    count(counts, state, -1);
    this.#unchain(slot, counts, chainOf(state));
    if (--counts.total === 0) this.#peers.delete(peer);
    if (state !== ANNOUNCEMENT.completed) this.#live[tx]!--;
    if (this.#selected[tx] === slot) this.#selected[tx] = NONE;
    this.#unchainFromTx(slot, tx);
    this.#free.push(slot);
    if (this.#first[tx]! >= 0) return;
    this.#byHash.remove(tx);
    this.#freeTxs.push(tx);
  }

  #addTx(hash: Uint8Array): number {
    const tx = this.#freeTxs.pop() ?? this.#txSlots++;
    if (tx >= this.#txCapacity) this.#growTxs();
    this.#hashes.set(hash, tx * HASH);
    this.#first[tx] = NONE;
    this.#selected[tx] = NONE;
    this.#live[tx] = 0;
    this.#byHash.add(tx);
    return tx;
  }

  #chain(slot: number, counts: PeerCounts, chain: 'best' | 'other'): void {
    const next = counts[chain];
    this.#nextOfPeer[slot] = next;
    this.#previousOfPeer[slot] = NONE;
    if (next >= 0) this.#previousOfPeer[next] = slot;
    counts[chain] = slot;
  }

  #unchain(slot: number, counts: PeerCounts, chain: 'best' | 'other'): void {
    const next = this.#nextOfPeer[slot]!;
    const previous = this.#previousOfPeer[slot]!;
    if (next >= 0) this.#previousOfPeer[next] = previous;
    if (previous >= 0) this.#nextOfPeer[previous] = next;
    else counts[chain] = next;
  }

  /** No longer than there are peers. */
  #unchainFromTx(slot: number, tx: number): void {
    const next = this.#nextOfTx[slot]!;
    if (this.#first[tx] === slot) {
      this.#first[tx] = next;
      return;
    }
    let previous = this.#first[tx]!;
    while (this.#nextOfTx[previous] !== slot) previous = this.#nextOfTx[previous]!;
    this.#nextOfTx[previous] = next;
  }

  #grow(): void {
    this.#capacity = grownRows(this.#capacity);
    this.#state = grown(this.#state, this.#capacity);
    this.#byWtxid = grown(this.#byWtxid, this.#capacity);
    this.#peer = grown(this.#peer, this.#capacity);
    this.#priority = grown(this.#priority, this.#capacity);
    this.#sequence = grown(this.#sequence, this.#capacity);
    this.#time = grown(this.#time, this.#capacity);
    this.#tx = grown(this.#tx, this.#capacity);
    this.#nextOfTx = grown(this.#nextOfTx, this.#capacity);
    this.#nextOfPeer = grown(this.#nextOfPeer, this.#capacity);
    this.#previousOfPeer = grown(this.#previousOfPeer, this.#capacity);
  }

  #growTxs(): void {
    this.#txCapacity = grownRows(this.#txCapacity);
    this.#hashes = grown(this.#hashes, this.#txCapacity * HASH);
    this.#first = grown(this.#first, this.#txCapacity);
    this.#selected = grown(this.#selected, this.#txCapacity);
    this.#live = grown(this.#live, this.#txCapacity);
  }
}

function isSelected(state: AnnouncementState): boolean {
  return state === ANNOUNCEMENT.best || state === ANNOUNCEMENT.requested;
}

function chainOf(state: AnnouncementState): 'best' | 'other' {
  return state === ANNOUNCEMENT.best ? 'best' : 'other';
}

function count(counts: PeerCounts, state: AnnouncementState, by: 1 | -1): void {
  if (state === ANNOUNCEMENT.requested) counts.requested += by;
  if (state === ANNOUNCEMENT.completed) counts.completed += by;
}
