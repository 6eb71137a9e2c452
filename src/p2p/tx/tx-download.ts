import type { TxRejection } from '../../consensus/rejection.ts';
import type { Orphanage, PeerId } from '../../mempool/orphanage.ts';
import { packageHash } from '../../policy/packages.ts';
import { type ParsedBlock, type ParsedTransaction, parseTransaction } from '../../primitives/block.ts';
import { hashToHex, type Txid, type Wtxid } from '../../primitives/hash.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import type { RandomBelow } from '../../util/random.ts';
import { type GenTxid, hasOwnWtxid } from './gen-txid.ts';
import type { RecentTxs } from './recent-txs.ts';
import type { RequestTracker } from './request-tracker.ts';

/** Number of requests in flight at which a peer counts as overloaded. */
const MAX_REQUESTS_IN_FLIGHT = 100;
/** Maximum number of announcements per peer. */
const MAX_ANNOUNCEMENTS = 5000;
/**
 * Delay for announcements by txid while a peer supports wtxid relay: a txid request could return a malleated witness.
 */
const TXID_RELAY_DELAY_MS = 2000;
/** Delay for peers that are not preferred: an attacker can open any number of inbound connections. */
const NON_PREFERRED_DELAY_MS = 2000;
const OVERLOADED_DELAY_MS = 2000;
/** Time to answer a request before another peer is asked, milliseconds. */
const REQUEST_TIMEOUT_MS = 60_000;

/** Properties of a peer that determine its requests. */
export interface TxPeer {
  /** Whether the peer is outbound or has the noban permission. */
  readonly preferred: boolean;
  /** Whether the peer has the relay permission, which lifts the limits. */
  readonly relayPermission: boolean;
  /** Whether wtxid relay was negotiated (BIP-339). */
  readonly wtxidRelay: boolean;
}

/** A parent below the mempool's feerate with a child that may pay for it. */
export interface PackageToValidate {
  readonly txs: readonly [parent: ParsedTransaction, child: ParsedTransaction];
  /** Peers that sent the transactions. */
  readonly senders: readonly [parent: PeerId, child: PeerId];
}

/** Next step for a received transaction: validate it, validate a package that it completes, or nothing. */
export interface ReceivedTx {
  readonly validate: boolean;
  readonly package: PackageToValidate | null;
}

/** Follow-up to a rejected transaction. */
export interface RejectedTx {
  /** Whether to keep the transaction for compact block reconstruction, since it may still be mined. */
  readonly keepForBlocks: boolean;
  /** Missing parents of an orphan. The sender has them, so they are not announced to it. */
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
  readonly log: Log;
}

/**
 * Core's TxDownloadManager: decides which transactions are requested from peers, and whether a received one is
 * validated, kept as an orphan, validated with a child, or dropped. The caller reports the mempool's results.
 */
export class TxDownload {
  readonly #deps: TxDownloadDeps;
  readonly #peers = new Map<PeerId, TxPeer>();
  #wtxidPeers = 0;

  constructor(deps: TxDownloadDeps) {
    this.#deps = deps;
  }

  /** Adds a peer that may announce transactions. */
  connectedPeer(peer: PeerId, info: TxPeer): void {
    if (this.#peers.has(peer)) return;
    this.#peers.set(peer, info);
    if (info.wtxidRelay) this.#wtxidPeers++;
  }

  disconnectedPeer(peer: PeerId): void {
    this.#deps.orphanage.removePeer(peer);
    this.#deps.tracker.disconnectedPeer(peer);
    if (this.#peers.get(peer)?.wtxidRelay) this.#wtxidPeers--;
    this.#peers.delete(peer);
  }

  /**
   * Processes a connected block; not called during initial block download. Returns the peers that have orphans to
   * reconsider.
   */
  blockConnected(block: ParsedBlock): PeerId[] {
    const { orphanage, recent, log } = this.#deps;
    const removed = orphanage.removeForBlock(block);
    if (removed > 0) log.debug('orphans removed: a block has or conflicts with them', { count: removed });
    const peers = new Set<PeerId>();
    for (const parsed of block.txs) {
      for (const peer of this.#parentArrived(parsed)) peers.add(peer);
      this.#forgetRequests(parsed);
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

  /**
   * Processes an announcement. Returns true if the transaction need not be requested, because we have it or rejected
   * it.
   */
  addTxAnnouncement(peer: PeerId, id: GenTxid): boolean {
    const { orphanage, tracker } = this.#deps;
    const orphan = id.by === 'wtxid' ? orphanage.byWtxid(id.hash as Wtxid) : null;
    if (orphan) {
      const parents = this.#missing(parentsOf(orphan));
      // An orphan without missing parents waits to be reconsidered.
      if (parents.length > 0 && this.#maybeAddOrphanResolutionCandidate(peer, orphan.wtxid, parents))
        orphanage.addAnnouncer(orphan.wtxid, peer);
      return true;
    }
    if (this.#alreadyHave(id, true)) return true;
    const info = this.#peers.get(peer);
    if (!info || (!info.relayPermission && tracker.count(peer) >= MAX_ANNOUNCEMENTS)) return false;
    tracker.receivedInv(peer, id, info.preferred, this.#requestTime(peer, info, id.by));
    return false;
  }

  /** Returns the transactions to request from a peer now, and records them as requested. */
  requestsToSend(peer: PeerId): GenTxid[] {
    const { tracker, clock } = this.#deps;
    const now = clock.monotonicMs();
    const requests: GenTxid[] = [];
    for (const id of tracker.getRequestable(peer, now)) {
      if (this.#alreadyHave(id, false)) {
        tracker.forgetTxHash(id.hash);
        continue;
      }
      tracker.requestedTx(peer, id.hash, now + REQUEST_TIMEOUT_MS);
      requests.push(id);
    }
    return requests;
  }

  /** Processes `notfound`. */
  receivedNotFound(peer: PeerId, hash: Uint8Array): void {
    this.#deps.tracker.receivedResponse(peer, hash);
  }

  receivedTx(peer: PeerId, parsed: ParsedTransaction): ReceivedTx {
    const { tracker, recent } = this.#deps;
    const { txid, wtxid } = parsed;
    tracker.receivedResponse(peer, txid);
    if (hasOwnWtxid(parsed)) tracker.receivedResponse(peer, wtxid);
    // The check uses the wtxid: with the txid, a copy with another witness could block the valid one. A peer that sends
    // a rejected transaction is not punished, since the filter has false positives and the reason is not stored.
    if (this.#alreadyHave({ by: 'wtxid', hash: wtxid }, false)) return { validate: false, package: null };
    if (recent.reconsiderable.contains(wtxid)) return { validate: false, package: this.#findPackage(parsed, peer) };
    return { validate: true, package: null };
  }

  /** Processes an accepted transaction. Returns the peers that have orphans to reconsider. */
  mempoolAccepted(parsed: ParsedTransaction): PeerId[] {
    this.#forgetRequests(parsed);
    const peers = this.#parentArrived(parsed);
    this.#deps.orphanage.remove(parsed.wtxid);
    return peers;
  }

  /**
   * Processes a rejected transaction. `firstTime` is true for one just received, false for an orphan or part of a
   * package.
   */
  mempoolRejected(parsed: ParsedTransaction, { kind }: TxRejection, peer: PeerId, firstTime: boolean): RejectedTx {
    const { orphanage, tracker, recent, mempool } = this.#deps;
    const { txid, wtxid } = parsed;
    if (mempool.hasWtxid(wtxid)) {
      // Two peers sent it, and the other copy was accepted while this one was queued.
      this.#forgetRequests(parsed);
      orphanage.remove(wtxid);
      return { keepForBlocks: false, missingParents: [], package: null };
    }
    if (kind === 'missing-inputs') {
      // Otherwise it is already in the orphanage, or was validated with a parent.
      if (firstTime && !recent.rejected.contains(wtxid)) return this.#addOrphan(parsed, peer);
      return { keepForBlocks: firstTime, missingParents: [], package: null };
    }
    let found: PackageToValidate | null = null;
    if (kind === 'fee') {
      recent.reconsiderable.insert(wtxid);
      if (firstTime) found = this.#findPackage(parsed, peer);
    } else if (kind !== 'witness-stripped') recent.rejected.insert(wtxid);
    if (kind !== 'witness-stripped') tracker.forgetTxHash(wtxid);
    // No witness can make non-standard inputs standard, so it need not be requested by txid as a parent either. Other
    // faults may be in a witness that someone malleated to block the transaction.
    if (kind === 'inputs-not-standard' && hasOwnWtxid(parsed)) {
      recent.rejected.insert(txid);
      tracker.forgetTxHash(txid);
    }
    orphanage.remove(wtxid);
    return { keepForBlocks: firstTime && kind !== 'witness-stripped', missingParents: [], package: found };
  }

  /** Processes a rejected package; the results of its transactions are reported separately. */
  mempoolRejectedPackage(txs: readonly Pick<ParsedTransaction, 'wtxid'>[]): void {
    this.#deps.recent.reconsiderable.insert(packageHash(txs.map(({ wtxid }) => wtxid)));
  }

  /** Returns whether `txToReconsider` has an orphan for a peer. */
  haveMoreWork(peer: PeerId): boolean {
    return this.#deps.orphanage.hasToReconsider(peer);
  }

  /** Returns the next orphan of a peer for which a parent arrived, to be validated again. */
  txToReconsider(peer: PeerId): ParsedTransaction | null {
    return this.#deps.orphanage.nextToReconsider(peer);
  }

  /** Drops all announcements of a transaction by both ids. */
  #forgetRequests({ txid, wtxid }: ParsedTransaction): void {
    const { tracker } = this.#deps;
    tracker.forgetTxHash(txid);
    tracker.forgetTxHash(wtxid);
  }

  #parentArrived(parsed: ParsedTransaction): PeerId[] {
    const { orphanage, random } = this.#deps;
    return orphanage.addChildrenToWorkSet(parsed, random);
  }

  #alreadyHave({ by, hash }: GenTxid, includeReconsiderable: boolean): boolean {
    const { orphanage, mempool, recent } = this.#deps;
    // The orphanage is only searched by wtxid, which equals the txid of a transaction without witness. Otherwise an
    // orphan with a malleated witness could block the valid transaction.
    if (orphanage.has(hash as Wtxid)) return true;
    if (includeReconsiderable && recent.reconsiderable.contains(hash)) return true;
    if (recent.confirmed.contains(hash) || recent.rejected.contains(hash)) return true;
    return by === 'wtxid' ? mempool.hasWtxid(hash) : mempool.hasTxid(hash);
  }

  #missing(txids: readonly Txid[]): Txid[] {
    return txids.filter((hash) => !this.#alreadyHave({ by: 'txid', hash }, false));
  }

  /** Returns the time from which an announcement may be requested, monotonic milliseconds. */
  #requestTime(peer: PeerId, { preferred, relayPermission }: TxPeer, by: GenTxid['by']): number {
    const { tracker, clock } = this.#deps;
    let time = clock.monotonicMs();
    if (!preferred) time += NON_PREFERRED_DELAY_MS;
    if (by === 'txid' && this.#wtxidPeers > 0) time += TXID_RELAY_DELAY_MS;
    if (!relayPermission && tracker.inFlight(peer) >= MAX_REQUESTS_IN_FLIGHT) time += OVERLOADED_DELAY_MS;
    return time;
  }

  /**
   * Requests the missing parents of an orphan from a peer that announced it. Returns false if the peer's announcement
   * limit is reached.
   */
  #maybeAddOrphanResolutionCandidate(peer: PeerId, orphan: Wtxid, parents: readonly Txid[]): boolean {
    const { orphanage, tracker } = this.#deps;
    const info = this.#peers.get(peer);
    if (!info || orphanage.isFrom(orphan, peer)) return false;
    if (!info.relayPermission && tracker.count(peer) + parents.length > MAX_ANNOUNCEMENTS) return false;
    // The delay gives parents that were announced together with the child the time to arrive.
    const time = this.#requestTime(peer, info, 'txid');
    for (const hash of parents) tracker.receivedInv(peer, { by: 'txid', hash }, info.preferred, time);
    return true;
  }

  #addOrphan(parsed: ParsedTransaction, sender: PeerId): RejectedTx {
    const { orphanage, tracker, recent, log } = this.#deps;
    const { txid, wtxid } = parsed;
    const parents = parentsOf(parsed);
    if (this.#hasUnacceptableParents(parents)) {
      const parent = hashToHex(parents.find((id) => recent.rejected.contains(id)) ?? parents[0]!);
      log.debug('orphan not kept: a parent was rejected', { txid: hashToHex(txid), wtxid: hashToHex(wtxid), parent });
      // The transaction is invalid with any witness, so both ids are rejected.
      recent.rejected.insert(txid);
      recent.rejected.insert(wtxid);
      this.#forgetRequests(parsed);
      return { keepForBlocks: true, missingParents: [], package: null };
    }
    const missing = this.#missing(parents);
    const keepForBlocks = !orphanage.has(wtxid);
    const candidates = new Set([sender, ...tracker.getCandidatePeers(txid), ...tracker.getCandidatePeers(wtxid)]);
    const kept = withOwnBytes(parsed);
    for (const peer of candidates)
      if (this.#maybeAddOrphanResolutionCandidate(peer, wtxid, missing)) orphanage.add(kept, peer);
    this.#forgetRequests(parsed);
    return { keepForBlocks, missingParents: missing, package: null };
  }

  /**
   * Returns whether an orphan cannot become valid: a parent was rejected, or two parents are below the mempool's
   * feerate, of which a package resolves only one.
   */
  #hasUnacceptableParents(parents: readonly Txid[]): boolean {
    const { mempool, recent } = this.#deps;
    let poor = 0;
    for (const txid of parents) {
      if (recent.rejected.contains(txid)) return true;
      if (recent.reconsiderable.contains(txid) && !mempool.hasTxid(txid)) poor++;
    }
    return poor > 1;
  }

  /**
   * Returns a package of a low-feerate parent and a child from the same peer, newest first, that was not tried yet;
   * null if there is none.
   */
  #findPackage(parent: ParsedTransaction, peer: PeerId): PackageToValidate | null {
    const { orphanage, recent } = this.#deps;
    // Children of other peers are ignored, otherwise they could crowd out the valid child.
    for (const child of orphanage.childrenFrom(peer, parent.txid)) {
      const tried = recent.reconsiderable.contains(packageHash([parent.wtxid, child.wtxid]));
      if (!tried && !recent.rejected.contains(child.txid)) return { txs: [parent, child], senders: [peer, peer] };
    }
    return null;
  }
}

/** Returns the txids of the spent outputs, each once. */
function parentsOf({ tx }: ParsedTransaction): Txid[] {
  return [...new Map(tx.inputs.map(({ prevout: { txid } }) => [hashToHex(txid), txid])).values()];
}

/** Copies the bytes if they are a small part of a received message, which they would keep in memory. */
function withOwnBytes(parsed: ParsedTransaction): ParsedTransaction {
  const { raw } = parsed;
  return raw.buffer.byteLength > raw.length * 2 ? parseTransaction(raw.slice()) : parsed;
}
