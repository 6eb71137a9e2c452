import { type SipHashKey, sipHashWords } from '../../crypto/siphash.ts';
import type { PeerId } from '../../mempool/orphanage.ts';
import { type RandomBelow, systemRandomBelow } from '../../util/random.ts';
import { SlotHeap } from '../../util/slot-heap.ts';
import { ANNOUNCEMENT, AnnouncementTable } from './announcement-table.ts';
import type { GenTxid } from './gen-txid.ts';

/** A request that was not answered in time. */
export interface ExpiredRequest {
  readonly peer: PeerId;
  readonly id: GenTxid;
}

/**
 * Core's TxRequestTracker: decides which transaction is requested from which peer, and when. Preferred peers come
 * first, and among equals the choice is random, so that announcing early is no advantage. A peer that does not answer
 * can delay a transaction but not keep it from us. Each transaction is requested from one peer at a time, and from no
 * peer twice. Times are monotonic milliseconds.
 */
export class RequestTracker {
  readonly #table = new AnnouncementTable();
  /** Announcements with a timer: the request time of delayed ones, the expiry of requested ones. */
  readonly #waiting = new SlotHeap((slot) => this.#table.time(slot));
  readonly #key: SipHashKey;

  constructor(key: SipHashKey = randomKey()) {
    this.#key = key;
  }

  /** Number of announcements of all peers. The caller limits it per peer. */
  get size(): number {
    return this.#table.size;
  }

  /** Returns the number of announcements of a peer, including completed ones. */
  count(peer: PeerId): number {
    return this.#table.counts(peer)?.total ?? 0;
  }

  /** Returns the number of unanswered requests to a peer. */
  inFlight(peer: PeerId): number {
    return this.#table.counts(peer)?.requested ?? 0;
  }

  /** Returns the number of announcements of a peer that may still be requested. */
  candidates(peer: PeerId): number {
    const counts = this.#table.counts(peer);
    return counts ? counts.total - counts.requested - counts.completed : 0;
  }

  /** Returns the peers that may provide a transaction, including one it is requested from. */
  getCandidatePeers(hash: Uint8Array): PeerId[] {
    const table = this.#table;
    const tx = table.findTx(hash);
    if (tx < 0) return [];
    const peers: PeerId[] = [];
    for (const slot of table.ofTx(tx)) if (table.state(slot) !== ANNOUNCEMENT.completed) peers.push(table.peer(slot));
    return peers;
  }

  /** Adds an announcement that must not be requested before `time`. Repeated announcements are ignored. */
  receivedInv(peer: PeerId, { by, hash }: GenTxid, preferred: boolean, time: number): void {
    if (this.#table.find(peer, hash) >= 0) return;
    const priority = requestPriority(this.#key, hash, peer, preferred);
    this.#waiting.add(this.#table.add({ peer, hash, byWtxid: by === 'wtxid', priority, time }));
  }

  /** Removes all announcements of a disconnected peer. */
  disconnectedPeer(peer: PeerId): void {
    // All of them are of different transactions, so removing one does not affect the others.
    for (const slot of [...this.#table.ofPeer(peer, 'best'), ...this.#table.ofPeer(peer, 'other')])
      if (this.#complete(slot)) this.#remove(slot);
  }

  /** Removes all announcements of a transaction that is no longer needed. */
  forgetTxHash(hash: Uint8Array): void {
    const tx = this.#table.findTx(hash);
    if (tx >= 0) this.#forgetTx(tx);
  }

  /**
   * Returns the transactions to request from a peer now, in order of announcement. Expired requests of all peers are
   * appended to `expired`.
   */
  getRequestable(peer: PeerId, now: number, expired: ExpiredRequest[] = []): GenTxid[] {
    this.#advanceTime(now, expired);
    const table = this.#table;
    const slots = table.ofPeer(peer, 'best').sort((a, b) => table.sequence(a) - table.sequence(b));
    return slots.map((slot) => this.#idOf(slot));
  }

  /**
   * Records a request to a peer that expires at `expiry`. Ignored unless the peer announced the transaction and was not
   * asked before.
   */
  requestedTx(peer: PeerId, hash: Uint8Array, expiry: number): void {
    const table = this.#table;
    const slot = table.find(peer, hash);
    if (slot < 0) return;
    const state = table.state(slot);
    if (state === ANNOUNCEMENT.requested || state === ANNOUNCEMENT.completed) return;
    const other = table.selected(table.tx(slot));
    if (other >= 0 && other !== slot) {
      // The caller did not request from the selected peer. A previous request counts as completed.
      const wasAsked = table.state(other) === ANNOUNCEMENT.requested;
      this.#waiting.remove(other);
      table.setState(other, wasAsked ? ANNOUNCEMENT.completed : ANNOUNCEMENT.ready);
    }
    this.#waiting.remove(slot);
    table.setState(slot, ANNOUNCEMENT.requested);
    table.setTime(slot, expiry);
    this.#waiting.add(slot);
  }

  /** Records an answer: the transaction or `notfound`. */
  receivedResponse(peer: PeerId, hash: Uint8Array): void {
    const slot = this.#table.find(peer, hash);
    if (slot >= 0) this.#complete(slot);
  }

  #idOf(slot: number): GenTxid {
    const table = this.#table;
    return { by: table.byWtxid(slot) ? 'wtxid' : 'txid', hash: table.hash(table.tx(slot)) };
  }

  #advanceTime(now: number, expired: ExpiredRequest[]): void {
    const table = this.#table;
    for (let slot = this.#waiting.first; slot >= 0 && table.time(slot) <= now; slot = this.#waiting.first) {
      if (table.state(slot) === ANNOUNCEMENT.delayed) this.#promote(slot);
      else {
        expired.push({ peer: table.peer(slot), id: this.#idOf(slot) });
        this.#complete(slot);
      }
    }
  }

  /** Makes a delayed announcement ready; it may become the best of its transaction. */
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

  /**
   * Completes an announcement and selects the next one. Returns false if the transaction was removed because no other
   * announcement is open.
   */
  #complete(slot: number): boolean {
    const table = this.#table;
    if (table.state(slot) === ANNOUNCEMENT.completed) return true;
    const tx = table.tx(slot);
    // Otherwise a transaction that failed with all peers could never be requested again.
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

/** Scratch space of one call. */
const input = new Uint8Array(40);
const peerView = new DataView(input.buffer, 32, 8);
const words = new Uint32Array(2);

/**
 * Returns the priority of an announcement: preferred peers first, then by a keyed hash that is unpredictable and
 * different for each transaction.
 */
export function requestPriority(key: SipHashKey, hash: Uint8Array, peer: PeerId, preferred: boolean): number {
  input.set(hash);
  peerView.setBigUint64(0, BigInt(peer), true);
  sipHashWords(key, input, words);
  // 52 bits of the hash, and above them the preference, are exact in a double.
  return words[0]! + (words[1]! & 0xf_ffff) * 2 ** 32 + (preferred ? 2 ** 52 : 0);
}

function randomKey(randomBelow: RandomBelow = systemRandomBelow): SipHashKey {
  return Int32Array.from({ length: 4 }, () => randomBelow(0x1_0000_0000));
}
