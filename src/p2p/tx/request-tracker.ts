import { type SipHashKey, sipHashWords } from '../../crypto/siphash.ts';
import type { PeerId } from '../../mempool/orphanage.ts';
import { SlotHeap } from '../../util/slot-heap.ts';
import { type RandomBelow, systemRandomBelow } from '../random-source.ts';
import { ANNOUNCEMENT, AnnouncementTable } from './announcement-table.ts';
import type { GenTxid } from './gen-txid.ts';

/** A request that was not answered in time. */
export interface ExpiredRequest {
  readonly peer: PeerId;
  readonly id: GenTxid;
}

/**
 * Which transaction is to be asked for from which peer, and when. Of those that announced one, a preferred peer is asked
 * first, and among equals chance decides, so that nobody gets to be asked by being quick: who does not answer delays a
 * transaction, and cannot keep it from us. Only one peer is asked at a time, and none twice. Times are milliseconds of a
 * clock that never goes back.
 */
export class RequestTracker {
  readonly #table = new AnnouncementTable();
  /** Announcements that wait for a time: delayed until then, or requested until then. */
  readonly #waiting = new SlotHeap((slot) => this.#table.time(slot));
  readonly #key: SipHashKey;

  constructor(key: SipHashKey = randomKey()) {
    this.#key = key;
  }

  /** Announcements of all peers. Their number per peer is for the caller to bound. */
  get size(): number {
    return this.#table.size;
  }

  /** Announcements of a peer, completed ones included. */
  count(peer: PeerId): number {
    return this.#table.counts(peer)?.total ?? 0;
  }

  /** Requests that a peer has not answered yet. */
  inFlight(peer: PeerId): number {
    return this.#table.counts(peer)?.requested ?? 0;
  }

  /** Announcements of a peer that may come to a request. */
  candidates(peer: PeerId): number {
    const counts = this.#table.counts(peer);
    return counts ? counts.total - counts.requested - counts.completed : 0;
  }

  /** Peers that a transaction could be had from, each once, that of a request included. */
  candidatePeers(hash: Uint8Array): PeerId[] {
    const table = this.#table;
    const tx = table.findTx(hash);
    if (tx < 0) return [];
    const peers: PeerId[] = [];
    for (const slot of table.ofTx(tx)) if (table.state(slot) !== ANNOUNCEMENT.completed) peers.push(table.peer(slot));
    return peers;
  }

  /** A peer has it; not to be asked for before `time`. No news where the peer has announced it already. */
  announced(peer: PeerId, { by, hash }: GenTxid, preferred: boolean, time: number): void {
    if (this.#table.find(peer, hash) >= 0) return;
    const priority = requestPriority(this.#key, hash, peer, preferred);
    this.#waiting.add(this.#table.add({ peer, hash, byWtxid: by === 'wtxid', priority, time }));
  }

  /** The peer is gone. */
  disconnected(peer: PeerId): void {
    // Each is of another transaction, so none goes with another.
    for (const slot of [...this.#table.ofPeer(peer, 'best'), ...this.#table.ofPeer(peer, 'other')])
      if (this.#complete(slot)) this.#remove(slot);
  }

  /** The transaction is not needed any more. */
  forget(hash: Uint8Array): void {
    const tx = this.#table.findTx(hash);
    if (tx >= 0) this.#forgetTx(tx);
  }

  /** What to ask a peer for now, in the order in which it announced it. Requests of any peer that are overdue go to `expired`. */
  requestable(peer: PeerId, now: number, expired: ExpiredRequest[] = []): GenTxid[] {
    this.#moveTo(now, expired);
    const table = this.#table;
    const slots = table.ofPeer(peer, 'best').sort((a, b) => table.sequence(a) - table.sequence(b));
    return slots.map((slot) => this.#idOf(slot));
  }

  /** The peer was asked for it, and has until `expiry` to answer. Not where it has not announced it, or was asked before. */
  requested(peer: PeerId, hash: Uint8Array, expiry: number): void {
    const table = this.#table;
    const slot = table.find(peer, hash);
    if (slot < 0) return;
    const state = table.state(slot);
    if (state === ANNOUNCEMENT.requested || state === ANNOUNCEMENT.completed) return;
    const other = table.selected(table.tx(slot));
    if (other >= 0 && other !== slot) {
      // It was not this peer's turn. Another that was asked before is not waited for any more.
      const wasAsked = table.state(other) === ANNOUNCEMENT.requested;
      this.#waiting.remove(other);
      table.setState(other, wasAsked ? ANNOUNCEMENT.completed : ANNOUNCEMENT.ready);
    }
    this.#waiting.remove(slot);
    table.setState(slot, ANNOUNCEMENT.requested);
    table.setTime(slot, expiry);
    this.#waiting.add(slot);
  }

  /** The peer has sent it, or has said that it cannot. */
  responded(peer: PeerId, hash: Uint8Array): void {
    const slot = this.#table.find(peer, hash);
    if (slot >= 0) this.#complete(slot);
  }

  #idOf(slot: number): GenTxid {
    const table = this.#table;
    return { by: table.byWtxid(slot) ? 'wtxid' : 'txid', hash: table.hash(table.tx(slot)) };
  }

  #moveTo(now: number, expired: ExpiredRequest[]): void {
    const table = this.#table;
    for (let slot = this.#waiting.first; slot >= 0 && table.time(slot) <= now; slot = this.#waiting.first) {
      if (table.state(slot) === ANNOUNCEMENT.delayed) this.#promote(slot);
      else {
        expired.push({ peer: table.peer(slot), id: this.#idOf(slot) });
        this.#complete(slot);
      }
    }
  }

  /** Its time has come: it may be the best there is. */
  #promote(slot: number): void {
    const table = this.#table;
    this.#waiting.remove(slot);
    table.setState(slot, ANNOUNCEMENT.ready);
    const best = table.selected(table.tx(slot));
    if (best >= 0) {
      if (table.state(best) !== ANNOUNCEMENT.best || table.priority(slot) <= table.priority(best)) return;
      table.setState(best, ANNOUNCEMENT.ready);
    }
    table.setState(slot, ANNOUNCEMENT.best);
  }

  /** Nothing more is expected of it; the next best takes its place. False where nothing was left to keep it for. */
  #complete(slot: number): boolean {
    const table = this.#table;
    if (table.state(slot) === ANNOUNCEMENT.completed) return true;
    const tx = table.tx(slot);
    // Otherwise what has failed with all peers could never be had.
    if (table.live(tx) === 1) {
      this.#forgetTx(tx);
      return false;
    }
    const wasSelected = table.selected(tx) === slot;
    this.#waiting.remove(slot);
    table.setState(slot, ANNOUNCEMENT.completed);
    if (wasSelected) this.#select(tx);
    return true;
  }

  #select(tx: number): void {
    const table = this.#table;
    let best = -1;
    for (const slot of table.ofTx(tx))
      if (table.state(slot) === ANNOUNCEMENT.ready && (best < 0 || table.priority(slot) > table.priority(best)))
        best = slot;
    if (best >= 0) table.setState(best, ANNOUNCEMENT.best);
  }

  #forgetTx(tx: number): void {
    for (const slot of [...this.#table.ofTx(tx)]) this.#remove(slot);
  }

  #remove(slot: number): void {
    this.#waiting.remove(slot);
    this.#table.remove(slot);
  }
}

const input = new Uint8Array(40);
const peerView = new DataView(input.buffer, 32, 8);
const words = new Uint32Array(2);

/** Who is asked first. Not to be foreseen without the key, and different for each transaction. */
export function requestPriority(key: SipHashKey, hash: Uint8Array, peer: PeerId, preferred: boolean): number {
  input.set(hash);
  peerView.setBigUint64(0, BigInt(peer), true);
  sipHashWords(key, input, words);
  // 52 bits, and above them who is preferred: exact in a double.
  return words[0]! + (words[1]! & 0xf_ffff) * 2 ** 32 + (preferred ? 2 ** 52 : 0);
}

function randomKey(randomBelow: RandomBelow = systemRandomBelow): SipHashKey {
  return Int32Array.from({ length: 4 }, () => randomBelow(0x1_0000_0000));
}
