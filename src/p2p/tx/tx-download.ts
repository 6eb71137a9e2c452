import type { TxRejection } from '../../consensus/rejection.ts';
import type { Orphanage, PeerId } from '../../mempool/orphanage.ts';
import { packageHash } from '../../policy/packages.ts';
import { type ParsedBlock, type ParsedTransaction, parseTransaction } from '../../primitives/block.ts';
import { hashToHex, type Txid, type Wtxid } from '../../primitives/hash.ts';
import type { Clock } from '../../util/clock.ts';
import type { RandomBelow } from '../random-source.ts';
import { type GenTxid, hasOwnWtxid } from './gen-txid.ts';
import type { RecentTxs } from './recent-txs.ts';
import type { RequestTracker } from './request-tracker.ts';

/** Requests of a peer from which on it counts as overloaded. */
const MAX_REQUESTS_IN_FLIGHT = 100;
/** Announcements kept of a peer: some minutes of what one may send, while nobody answers. */
const MAX_ANNOUNCEMENTS = 5000;
/** By txid it may be another witness than the one we want, so peers that announce wtxids go first. */
const TXID_RELAY_DELAY_MS = 2000;
/** Whoever connects to us may be anybody. */
const NON_PREFERRED_DELAY_MS = 2000;
const OVERLOADED_DELAY_MS = 2000;
/** How long a peer has to answer before another is asked. */
const REQUEST_TIMEOUT_MS = 60_000;

/** What the requests to a peer depend on. */
export interface TxPeer {
  /** Outbound, or trusted by the operator. */
  readonly preferred: boolean;
  /** Has the `relay` permission: no limits. */
  readonly relayPermission: boolean;
  /** BIP-339. */
  readonly wtxidRelay: boolean;
}

/** A parent that pays too little, and a child that may pay for it. */
export interface PackageToValidate {
  readonly txs: readonly [parent: ParsedTransaction, child: ParsedTransaction];
  /** Who sent them. */
  readonly senders: readonly [parent: PeerId, child: PeerId];
}

/** What to do with a transaction that has come: judge it, or a package that it completes, or neither. */
export interface ReceivedTx {
  readonly validate: boolean;
  readonly package: PackageToValidate | null;
}

/** What is left to do after a transaction was refused. */
export interface RejectedTx {
  /** It may be in the next block all the same, so its bytes are worth keeping for that. */
  readonly keepForBlocks: boolean;
  /** Parents it waits for: the sender has them, and need not be told of them. */
  readonly missingParents: readonly Txid[];
  readonly package: PackageToValidate | null;
}

export interface TxDownloadDeps {
  readonly mempool: { hasTxid(txid: Uint8Array): boolean; hasWtxid(wtxid: Uint8Array): boolean };
  readonly tracker: RequestTracker;
  readonly orphanage: Orphanage;
  readonly recent: RecentTxs;
  readonly clock: Clock;
  readonly random: RandomBelow;
}

/**
 * Decides which transactions peers are asked for, and what is to be done with those that come: judged, kept until their
 * parents come, judged together with a child, or dropped. What the mempool says of them it has to be told.
 */
export class TxDownload {
  readonly #deps: TxDownloadDeps;
  readonly #peers = new Map<PeerId, TxPeer>();
  #wtxidPeers = 0;

  constructor(deps: TxDownloadDeps) {
    this.#deps = deps;
  }

  /** Transactions can be had from a peer. */
  connectedPeer(peer: PeerId, info: TxPeer): void {
    if (this.#peers.has(peer)) return;
    this.#peers.set(peer, info);
    if (info.wtxidRelay) this.#wtxidPeers++;
  }

  disconnectedPeer(peer: PeerId): void {
    this.#deps.orphanage.removePeer(peer);
    this.#deps.tracker.disconnected(peer);
    if (this.#peers.get(peer)?.wtxidRelay) this.#wtxidPeers--;
    this.#peers.delete(peer);
  }

  /** A block has joined the chain; not to be told of in initial sync. Returns peers that have work now. */
  blockConnected(block: ParsedBlock): PeerId[] {
    const { orphanage, recent } = this.#deps;
    orphanage.removeForBlock(block);
    const peers = new Set<PeerId>();
    for (const parsed of block.txs) {
      for (const peer of this.#parentArrived(parsed)) peers.add(peer);
      this.#forget(parsed);
    }
    recent.blockConnected(block);
    return [...peers];
  }

  blockDisconnected(): void {
    this.#deps.recent.blockDisconnected();
  }

  activeTipChanged(): void {
    this.#deps.recent.tipChanged();
  }

  /** A peer has a transaction. True where it need not be asked for: we have it, or know enough of it. */
  addTxAnnouncement(peer: PeerId, id: GenTxid): boolean {
    const { orphanage, tracker } = this.#deps;
    const orphan = id.by === 'wtxid' ? orphanage.get(id.hash as Wtxid) : null;
    if (orphan) {
      const parents = this.#missing(parentsOf(orphan));
      // With none missing it waits to be looked at again, and stays.
      if (parents.length > 0 && this.#resolveThrough(peer, orphan.wtxid, parents))
        orphanage.addAnnouncer(orphan.wtxid, peer);
      return true;
    }
    if (this.#alreadyHave(id, true)) return true;
    const info = this.#peers.get(peer);
    if (!info || (!info.relayPermission && tracker.count(peer) >= MAX_ANNOUNCEMENTS)) return false;
    tracker.announced(peer, id, info.preferred, this.#requestTime(peer, info, id.by));
    return false;
  }

  /** What to ask a peer for now; it counts as asked for. */
  requestsToSend(peer: PeerId): GenTxid[] {
    const { tracker, clock } = this.#deps;
    const now = clock.monotonicMs();
    const requests: GenTxid[] = [];
    for (const id of tracker.requestable(peer, now)) {
      if (this.#alreadyHave(id, false)) {
        tracker.forget(id.hash);
        continue;
      }
      tracker.requested(peer, id.hash, now + REQUEST_TIMEOUT_MS);
      requests.push(id);
    }
    return requests;
  }

  /** The peer does not have what it was asked for. */
  receivedNotFound(peer: PeerId, hash: Uint8Array): void {
    this.#deps.tracker.responded(peer, hash);
  }

  receivedTx(peer: PeerId, parsed: ParsedTransaction): ReceivedTx {
    const { tracker, recent } = this.#deps;
    const { txid, wtxid } = parsed;
    tracker.responded(peer, txid);
    if (hasOwnWtxid(parsed)) tracker.responded(peer, wtxid);
    // By txid a copy with another witness could keep the good one out. Who sends what was refused before is not to blame
    // for it: the filter may be wrong, and what was wrong with the transaction is not known any more.
    if (this.#alreadyHave({ by: 'wtxid', hash: wtxid }, false)) return { validate: false, package: null };
    if (recent.reconsiderable.contains(wtxid)) return { validate: false, package: this.#findPackage(parsed, peer) };
    return { validate: true, package: null };
  }

  /** It is in the mempool. Returns peers that have work now. */
  mempoolAccepted(parsed: ParsedTransaction): PeerId[] {
    this.#forget(parsed);
    const peers = this.#parentArrived(parsed);
    this.#deps.orphanage.remove(parsed.wtxid);
    return peers;
  }

  /** The mempool refused it. `firstTime`: as it came from the peer, not out of the orphanage or in a package. */
  mempoolRejected(parsed: ParsedTransaction, { kind }: TxRejection, peer: PeerId, firstTime: boolean): RejectedTx {
    const { orphanage, tracker, recent, mempool } = this.#deps;
    const { txid, wtxid } = parsed;
    if (mempool.hasWtxid(wtxid)) {
      // It came from two peers, and the other copy got in while this one waited for its turn.
      this.#forget(parsed);
      orphanage.remove(wtxid);
      return { keepForBlocks: false, missingParents: [], package: null };
    }
    if (kind === 'missing-inputs') {
      // Otherwise it is in the orphanage already, or was judged with a parent.
      if (firstTime && !recent.rejected.contains(wtxid)) return this.#addOrphan(parsed, peer);
      return { keepForBlocks: firstTime, missingParents: [], package: null };
    }
    let found: PackageToValidate | null = null;
    if (kind === 'fee') {
      recent.reconsiderable.insert(wtxid);
      if (firstTime) found = this.#findPackage(parsed, peer);
    } else if (kind !== 'witness-stripped') recent.rejected.insert(wtxid);
    if (kind !== 'witness-stripped') tracker.forget(wtxid);
    // No witness could change that, so it need not be fetched by its txid for a child either. All other faults may be
    // those of a witness that somebody put there to keep the transaction from us.
    if (kind === 'inputs-not-standard' && hasOwnWtxid(parsed)) {
      recent.rejected.insert(txid);
      tracker.forget(txid);
    }
    orphanage.remove(wtxid);
    return { keepForBlocks: firstTime && kind !== 'witness-stripped', missingParents: [], package: found };
  }

  /** The mempool refused transactions that were judged together; what it says of each of them comes as well. */
  mempoolRejectedPackage(txs: readonly Pick<ParsedTransaction, 'wtxid'>[]): void {
    this.#deps.recent.reconsiderable.insert(packageHash(txs.map(({ wtxid }) => wtxid)));
  }

  /** Whether `txToReconsider` has something for a peer. */
  haveMoreWork(peer: PeerId): boolean {
    return this.#deps.orphanage.hasReady(peer);
  }

  /** The next orphan of a peer of which a parent has come: to be judged again. */
  txToReconsider(peer: PeerId): ParsedTransaction | null {
    return this.#deps.orphanage.nextReady(peer);
  }

  /** Nobody need be asked for it, by either id. */
  #forget({ txid, wtxid }: ParsedTransaction): void {
    const { tracker } = this.#deps;
    tracker.forget(txid);
    tracker.forget(wtxid);
  }

  #parentArrived(parsed: ParsedTransaction): PeerId[] {
    const { orphanage, random } = this.#deps;
    return orphanage.parentArrived(parsed, random);
  }

  #alreadyHave({ by, hash }: GenTxid, includeReconsiderable: boolean): boolean {
    const { orphanage, mempool, recent } = this.#deps;
    // A txid is taken for a wtxid, which it is where there is no witness: never is an orphan looked up by its txid, as
    // one with a spoilt witness could then keep the good one out.
    if (orphanage.has(hash as Wtxid)) return true;
    if (includeReconsiderable && recent.reconsiderable.contains(hash)) return true;
    if (recent.confirmed.contains(hash) || recent.rejected.contains(hash)) return true;
    return by === 'wtxid' ? mempool.hasWtxid(hash) : mempool.hasTxid(hash);
  }

  #missing(txids: readonly Txid[]): Txid[] {
    return txids.filter((hash) => !this.#alreadyHave({ by: 'txid', hash }, false));
  }

  /** When a peer may be asked for what it announces now. */
  #requestTime(peer: PeerId, { preferred, relayPermission }: TxPeer, by: GenTxid['by']): number {
    const { tracker, clock } = this.#deps;
    let time = clock.monotonicMs();
    if (!preferred) time += NON_PREFERRED_DELAY_MS;
    if (by === 'txid' && this.#wtxidPeers > 0) time += TXID_RELAY_DELAY_MS;
    if (!relayPermission && tracker.inFlight(peer) >= MAX_REQUESTS_IN_FLIGHT) time += OVERLOADED_DELAY_MS;
    return time;
  }

  /** Whoever has a transaction has its parents: as if the peer had announced them. False where it may announce no more. */
  #resolveThrough(peer: PeerId, orphan: Wtxid, parents: readonly Txid[]): boolean {
    const { orphanage, tracker } = this.#deps;
    const info = this.#peers.get(peer);
    if (!info || orphanage.isFrom(orphan, peer)) return false;
    if (!info.relayPermission && tracker.count(peer) + parents.length > MAX_ANNOUNCEMENTS) return false;
    // Meanwhile a parent that was announced together with its child may come by itself.
    const time = this.#requestTime(peer, info, 'txid');
    for (const hash of parents) tracker.announced(peer, { by: 'txid', hash }, info.preferred, time);
    return true;
  }

  #addOrphan(parsed: ParsedTransaction, sender: PeerId): RejectedTx {
    const { orphanage, tracker, recent } = this.#deps;
    const { txid, wtxid } = parsed;
    const parents = parentsOf(parsed);
    if (this.#hasHopelessParents(parents)) {
      // Whatever its witness, it is of no use.
      recent.rejected.insert(txid);
      recent.rejected.insert(wtxid);
      this.#forget(parsed);
      return { keepForBlocks: true, missingParents: [], package: null };
    }
    const missing = this.#missing(parents);
    const keepForBlocks = !orphanage.has(wtxid);
    const candidates = new Set([sender, ...tracker.candidatePeers(txid), ...tracker.candidatePeers(wtxid)]);
    const kept = withOwnBytes(parsed);
    for (const peer of candidates) if (this.#resolveThrough(peer, wtxid, missing)) orphanage.add(kept, peer);
    this.#forget(parsed);
    return { keepForBlocks, missingParents: missing, package: null };
  }

  /** A parent that was refused, or two that pay too little: only one can be paid for. */
  #hasHopelessParents(parents: readonly Txid[]): boolean {
    const { mempool, recent } = this.#deps;
    let poor = 0;
    for (const txid of parents) {
      if (recent.rejected.contains(txid)) return true;
      if (recent.reconsiderable.contains(txid) && !mempool.hasTxid(txid)) poor++;
    }
    return poor > 1;
  }

  /** A child of what pays too little, that was not tried with it yet: only one of the same peer, the newest first. */
  #findPackage(parent: ParsedTransaction, peer: PeerId): PackageToValidate | null {
    const { orphanage, recent } = this.#deps;
    // Others could offer any number of children that are of no use, and so keep the good one from being tried.
    for (const child of orphanage.childrenFrom(peer, parent.txid)) {
      const tried = recent.reconsiderable.contains(packageHash([parent.wtxid, child.wtxid]));
      if (!tried && !recent.rejected.contains(child.txid)) return { txs: [parent, child], senders: [peer, peer] };
    }
    return null;
  }
}

/** Transactions whose outputs it spends, each once. */
function parentsOf({ tx }: ParsedTransaction): Txid[] {
  return [...new Map(tx.inputs.map(({ prevout: { txid } }) => [hashToHex(txid), txid])).values()];
}

/** What is kept must not keep alive the much larger message that it came in. */
function withOwnBytes(parsed: ParsedTransaction): ParsedTransaction {
  const { raw } = parsed;
  return raw.buffer.byteLength > raw.length * 2 ? parseTransaction(raw.slice()) : parsed;
}
