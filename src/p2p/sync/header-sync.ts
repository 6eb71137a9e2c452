import type { ChainEntry } from '../../chain/chain-entry.ts';
import { locatorOf } from '../../chain/chain-entry.ts';
import { checkProofOfWork, workOf } from '../../consensus/work.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../primitives/header.ts';
import { equalBytes } from '../../util/bytes.ts';
import { unixSeconds } from '../../util/clock.ts';
import { MAX_HEADERS } from '../messages/headers.ts';
import { PROTOCOL_VERSION } from '../p2p-protocol.ts';
import type { Peer } from '../peer/peer.ts';
import { antiDosWork, type PeerContext } from '../peer/peer-context.ts';
import { isActive, updateBestKnown, updateBlockAvailability } from './availability.ts';
import { HeadersPresync } from './headers-presync.ts';
import { punishForBlock } from './punish.ts';

/** Time to answer a `getheaders` before another may be sent (Core's HEADERS_RESPONSE_TIME), milliseconds. */
const RESPONSE_MS = 2 * 60_000;
const DOWNLOAD_BASE_MS = 15 * 60_000;
const DOWNLOAD_PER_HEADER_MS = 1;
/** If the best header is at most this old, headers are requested from all peers, seconds. */
const RECENT_S = 24 * 60 * 60;
/**
 * Number of outbound peers protected from eviction for a lagging chain (Core's
 * MAX_OUTBOUND_PEERS_TO_PROTECT_FROM_DISCONNECT).
 */
const MAX_PROTECTED = 4;
const NO_STOP = new Uint8Array(32) as BlockHash;

/** Downloads headers: from one peer at first, near the tip from all peers. */
export class HeaderSync {
  readonly #ctx: PeerContext;
  /** Called when headers of a peer were accepted, so that their blocks can be requested. */
  readonly #onAccepted: (peer: Peer, last: ChainEntry) => void;
  readonly #protected = new Set<Peer>();
  /** The last block whose `inv` triggered a `getheaders` to a peer without header sync. */
  #lastTrigger: BlockHash | null = null;

  constructor(ctx: PeerContext, arrived: (peer: Peer, last: ChainEntry) => void) {
    this.#ctx = ctx;
    this.#onAccepted = arrived;
  }

  removePeer(peer: Peer): void {
    this.#protected.delete(peer);
    peer.sync.presync = null;
  }

  /** Starts header sync with the peer if it may start, and enforces its deadline. */
  tick(peer: Peer, nowMs: number): void {
    const { sync } = peer;
    if (sync.started) this.#checkDeadline(peer, nowMs);
    else if (peer.servesBlocks && this.#mayStart(peer)) this.#start(peer, nowMs);
  }

  /**
   * Sends `getheaders` with a locator unless a response is pending (Core's MaybeSendGetHeaders). Returns whether it was
   * sent.
   */
  maybeSendGetHeaders(peer: Peer, locator: readonly BlockHash[]): boolean {
    const nowMs = this.#ctx.clock.monotonicMs();
    if (nowMs - peer.sync.headersAskedAt <= RESPONSE_MS) return false;
    peer.sync.headersAskedAt = nowMs;
    peer.link.send('getheaders', { version: PROTOCOL_VERSION, locator: locator.slice(), stopHash: NO_STOP });
    return true;
  }

  /** Processes an `inv` of a block. */
  onBlockInv(peer: Peer, hash: BlockHash): void {
    const { chain } = this.#ctx;
    updateBlockAvailability(peer, hash, chain);
    if (chain.findEntry(hash) !== null) return;
    const { sync } = peer;
    if (!sync.started) {
      // The peer of the initial header sync may be slow, so each newly announced block adds one more peer, and each
      // peer once.
      const isNew = this.#lastTrigger === null || !equalBytes(hash, this.#lastTrigger);
      if (sync.invTriggeredHeaders || !isNew) return;
      sync.invTriggeredHeaders = true;
      this.#lastTrigger = hash.slice() as BlockHash;
    }
    this.maybeSendGetHeaders(peer, locatorOf(chain.bestHeader));
  }

  async onHeaders(peer: Peer, headers: readonly BlockHeader[]): Promise<void> {
    const { chain } = this.#ctx;
    const { sync } = peer;
    if (headers.length === 0) {
      sync.presync = null;
      sync.headersAskedAt = Number.NEGATIVE_INFINITY;
      return;
    }
    const problem = this.#problem(headers);
    if (problem !== null) return this.#ctx.misbehaving(peer, problem);
    const full = headers.length === MAX_HEADERS;
    const ready = this.#continueLowWorkSync(peer, headers, full);
    if (ready.headers.length === 0) return;
    const parent = chain.findEntry(ready.headers[0]!.previousHash);
    if (parent === null) return this.#handleUnconnecting(peer, ready.headers);
    sync.headersAskedAt = Number.NEGATIVE_INFINITY;
    const lastKnown = chain.findEntry(headerHash(ready.headers.at(-1)!));
    const proven =
      ready.proven || peer.link.permissions.has('noban') || (lastKnown !== null && this.#isAncestorOfBest(lastKnown));
    if (!proven && this.#tryLowWorkSync(peer, parent, ready.headers, full)) return;
    const { last, rejection, added } = await chain.acceptHeaders(ready.headers);
    if (last !== null) updateBestKnown(peer, last);
    if (last !== null && added > 0) this.#logProgress(last);
    if (rejection !== null) return punishForBlock(this.#ctx, peer, rejection);
    if (last === null || peer.gone) return;
    if (full && sync.presync === null) this.maybeSendGetHeaders(peer, locatorOf(last));
    this.#updatePeerState(peer, last, { isNew: lastKnown === null, mayHaveMore: full });
    this.#onAccepted(peer, last);
  }

  /**
   * Returns the protocol violation of a `headers` message, or null: invalid proof of work, or headers that are not
   * consecutive.
   */
  #problem(headers: readonly BlockHeader[]): string | null {
    const { powLimit } = this.#ctx.params.consensus;
    let previous: BlockHash | null = null;
    for (const header of headers) {
      if (previous !== null && !equalBytes(header.previousHash, previous)) return 'non-continuous headers sequence';
      previous = headerHash(header);
      if (!checkProofOfWork(previous, header.bits, powLimit)) return 'header with invalid proof of work';
    }
    return null;
  }

  #logProgress({ height, time }: ChainEntry): void {
    const { chain, clock, log, params } = this.#ctx;
    if (!chain.initialSync || !log.enabled('debug')) return;
    const left = Math.max(0, Math.floor((unixSeconds(clock) - time) / params.consensus.powTargetSpacing));
    log.debug('header synchronization progresses', {
      height,
      progress: ((100 * height) / (height + left || 1)).toFixed(2),
    });
  }

  /** Passes headers through the low-work header sync if one is active. Returns the headers to be validated now. */
  #continueLowWorkSync(peer: Peer, headers: readonly BlockHeader[], full: boolean) {
    const { sync } = peer;
    if (sync.presync === null) return { headers, proven: false };
    const { success, requestMore, headers: ready } = sync.presync.process(headers, full);
    // The headers answer our request.
    if (success) sync.headersAskedAt = Number.NEGATIVE_INFINITY;
    if (requestMore) this.maybeSendGetHeaders(peer, sync.presync.locator());
    else sync.presync = null;
    // If they do not continue the presync, they are processed as an announcement.
    return success ? { headers: ready, proven: true } : { headers, proven: false };
  }

  /**
   * Core's TryLowWorkHeadersSync: returns whether the headers must not be stored because their chain lacks work. A
   * chain that may continue starts a presync.
   */
  #tryLowWorkSync(peer: Peer, start: ChainEntry, headers: readonly BlockHeader[], full: boolean): boolean {
    const minimumWork = antiDosWork(this.#ctx);
    const total = headers.reduce((sum, { bits }) => sum + workOf(bits), start.chainwork);
    if (total >= minimumWork) return false;
    // The chain ends here, so it cannot reach the required work.
    if (!full) {
      this.#ctx.log.debug('headers ignored: their chain has too little work', {
        peer: peer.id,
        height: start.height + headers.length,
      });
      return true;
    }
    const { params, clock, random } = this.#ctx;
    const presync = new HeadersPresync({ params, start, minimumWork, now: unixSeconds(clock), randomBelow: random });
    peer.sync.presync = presync;
    const { requestMore } = presync.process(headers, full);
    if (requestMore) this.maybeSendGetHeaders(peer, presync.locator());
    else peer.sync.presync = null;
    return true;
  }

  /** Processes headers whose parent is unknown (BIP-130): requests the headers in between. */
  #handleUnconnecting(peer: Peer, headers: readonly BlockHeader[]): void {
    const { chain } = this.#ctx;
    this.maybeSendGetHeaders(peer, locatorOf(chain.bestHeader));
    updateBlockAvailability(peer, headerHash(headers.at(-1)!), chain);
  }

  #isAncestorOfBest(entry: ChainEntry): boolean {
    const { chain } = this.#ctx;
    return chain.bestHeader.ancestor(entry.height) === entry || isActive(chain, entry);
  }

  #updatePeerState(
    peer: Peer,
    last: ChainEntry,
    { isNew, mayHaveMore }: { isNew: boolean; mayHaveMore: boolean },
  ): void {
    const { chain, params, clock, log } = this.#ctx;
    const { sync, link } = peer;
    if (isNew && last.chainwork > chain.tip.chainwork) sync.lastAnnouncementAt = unixSeconds(clock);
    const work = sync.bestKnown?.chainwork ?? 0n;
    const outbound = link.type === 'outbound-full-relay' || link.type === 'block-relay-only';
    if (chain.initialSync && !mayHaveMore && outbound && work < params.consensus.minimumChainWork) {
      log.info('outbound peer disconnected: its chain has too little work', { peer: peer.id });
      link.disconnect('headers chain has insufficient work');
      return;
    }
    if (link.type !== 'outbound-full-relay' || sync.chain.protected) return;
    if (this.#protected.size >= MAX_PROTECTED || work < chain.tip.chainwork) return;
    sync.chain.protected = true;
    this.#protected.add(peer);
  }

  #mayStart(peer: Peer): boolean {
    const { chain, peers, clock } = this.#ctx;
    if (peer.link.type === 'addr-fetch') return false;
    if (chain.bestHeader.time > unixSeconds(clock) - RECENT_S) return true;
    let preferred = false;
    for (const other of peers.values()) {
      if (other.sync.started) return false;
      if (other.sync.preferred) preferred = true;
    }
    return peer.sync.preferred || !preferred;
  }

  #start(peer: Peer, nowMs: number): void {
    const { chain, params, clock, log } = this.#ctx;
    const best = chain.bestHeader;
    // The locator starts one block below the best header, so that a peer with the same chain answers with a header as
    // well.
    if (!this.maybeSendGetHeaders(peer, locatorOf(best.parent ?? best))) return;
    log.debug('headers requested', { peer: peer.id, height: (best.parent ?? best).height });
    const missing = Math.max(0, unixSeconds(clock) - best.time) / params.consensus.powTargetSpacing;
    peer.sync.started = true;
    peer.sync.headersDeadline = nowMs + DOWNLOAD_BASE_MS + DOWNLOAD_PER_HEADER_MS * missing;
  }

  /** Enforces the deadline of the initial header sync, so that another peer can take over from an unresponsive one. */
  #checkDeadline(peer: Peer, nowMs: number): void {
    const { chain, peers, clock } = this.#ctx;
    const { sync, link } = peer;
    if (sync.headersDeadline === Number.POSITIVE_INFINITY) return;
    if (chain.bestHeader.time > unixSeconds(clock) - RECENT_S) {
      sync.headersDeadline = Number.POSITIVE_INFINITY;
      return;
    }
    if (nowMs <= sync.headersDeadline) return;
    const others = [...peers.values()].filter((other) => other !== peer);
    if (others.some(({ sync: { started } }) => started) || !others.some(({ sync: { preferred } }) => preferred)) return;
    if (!link.permissions.has('noban')) {
      link.disconnect('header download timeout');
      return;
    }
    this.#ctx.log.debug('header download timed out and the peer stays', { peer: peer.id });
    sync.started = false;
    sync.headersAskedAt = Number.NEGATIVE_INFINITY;
    sync.headersDeadline = Number.POSITIVE_INFINITY;
  }
}
