import type { PeerId } from '../../mempool/orphanage.ts';
import { grown, grownRows } from '../../util/column.ts';
import { SlotIndex } from '../../util/slot-index.ts';

/** State of a peer's announcement of a transaction (Core's TxRequestTracker). */
export const ANNOUNCEMENT = {
  /** Its request time is in the future. */
  delayed: 0,
  ready: 1,
  /** The best of the ready announcements of a transaction, if none is requested. */
  best: 2,
  requested: 3,
  /** Requested, and answered or expired. It is kept so that the peer is not asked again. */
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
  /** Heads of the peer's lists: announcements in state `best`, and all others. */
  best: number;
  other: number;
}

const HASH = 32;
const INITIAL = 64;
const NONE = -1;

/**
 * Announcements in typed arrays of at most 160 bytes each: peers may create half a million of them, which would take
 * several times as much as objects. Each has a slot, and is linked with the others of its transaction and of its peer.
 */
export class AnnouncementTable {
  #capacity = INITIAL;
  #state = new Uint8Array(INITIAL);
  #byWtxid = new Uint8Array(INITIAL);
  #peer = new Float64Array(INITIAL);
  #priority = new Float64Array(INITIAL);
  #sequence = new Float64Array(INITIAL);
  #time = new Float64Array(INITIAL);
  /** Slot of the transaction. */
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
  /** The announcement that is best or requested, at most one per transaction. */
  #selected = new Int32Array(INITIAL);
  /** Number of announcements that are not completed. */
  #live = new Int32Array(INITIAL);
  #txSlots = 0;
  readonly #freeTxs: number[] = [];
  readonly #byHash = new SlotIndex(HASH, () => this.#hashes);
  readonly #peers = new Map<PeerId, PeerCounts>();

  get size(): number {
    return this.#slots - this.#free.length;
  }

  /** Returns the number of announcements of a peer: all, requested, completed. */
  counts(peer: PeerId): Readonly<Pick<PeerCounts, 'total' | 'requested' | 'completed'>> | null {
    return this.#peers.get(peer) ?? null;
  }

  /** Returns the slot of a transaction, or -1. */
  findTx(hash: Uint8Array): number {
    return this.#byHash.find(hash);
  }

  /** Returns the slot of a peer's announcement of a transaction, or -1. */
  find(peer: PeerId, hash: Uint8Array): number {
    const tx = this.#byHash.find(hash);
    if (tx < 0) return NONE;
    for (let slot = this.#first[tx]!; slot >= 0; slot = this.#nextOfTx[slot]!)
      if (this.#peer[slot] === peer) return slot;
    return NONE;
  }

  /** Yields the announcements of a transaction, unordered. The table must not change during the iteration. */
  *ofTx(tx: number): Generator<number> {
    for (let slot = this.#first[tx]!; slot >= 0; slot = this.#nextOfTx[slot]!) yield slot;
  }

  /** Returns the announcements of a peer, unordered: those in state `best`, or all others. */
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

  /** Returns the sequence number, which increases with each announcement. */
  sequence(slot: number): number {
    return this.#sequence[slot]!;
  }

  time(slot: number): number {
    return this.#time[slot]!;
  }

  setTime(slot: number, time: number): void {
    this.#time[slot] = time;
  }

  /** Adds an announcement in state `delayed`. The peer must not have announced the transaction before. */
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

  /** Changes the state of an announcement that is not completed. */
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

  /** Removes an announcement, and its transaction with the last of them. */
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

  /** The list is at most as long as the number of peers. */
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
