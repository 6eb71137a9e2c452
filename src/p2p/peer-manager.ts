import type { ChainEntry } from '../chain/chain-entry.ts';
import type { ChainCommit } from '../chain/events.ts';
import { isTimeMocked } from '../util/clock.ts';
import { equalAddresses } from './address/net-address.ts';
import { isLocal, isValid } from './address/ranges.ts';
import type { PeerLink, PeerLogic } from './connections/peer-link.ts';
import { MessageError } from './messages/codec.ts';
import { isMessageType } from './messages/messages.ts';
import { Handshake } from './peer/handshake.ts';
import { Keepalive } from './peer/keepalive.ts';
import { OutboundMonitor, type OutboundSlots } from './peer/outbound-monitor.ts';
import { Peer } from './peer/peer.ts';
import { offersBloom, type PeerContext } from './peer/peer-context.ts';
import { TimeOffsets } from './peer/time-offsets.ts';
import { TxReconciliation } from './peer/tx-reconciliation.ts';
import { PeerMessages } from './peer-messages.ts';
import { AddrRelay } from './relay/addr-relay.ts';
import { BlockAnnouncer } from './relay/block-announcer.ts';
import { CompactRelay } from './relay/compact-relay.ts';
import { PRIVATE_MESSAGES, PrivateBroadcast } from './relay/private-broadcast.ts';
import { RecentBlock } from './relay/recent-block.ts';
import { ServeBlocks } from './relay/serve-blocks.ts';
import { ServeFilters } from './relay/serve-filters.ts';
import { TxReceiver } from './relay/tx-receiver.ts';
import { TxRelay } from './relay/tx-relay.ts';
import { BlockDownload } from './sync/block-download.ts';
import { HeaderSync } from './sync/header-sync.ts';
import type { NetMessage } from './transport/transport.ts';

/** Interval of periodic work per peer, milliseconds; most work is triggered by messages. */
const TICK_MS = 100;
/** Messages allowed before the handshake is complete. */
const HANDSHAKE_MESSAGES = new Set(['version', 'verack', 'wtxidrelay', 'sendaddrv2', 'sendtxrcncl', 'feature']);

const FILTER_MESSAGES = new Set(['filterload', 'filteradd', 'filterclear']);

/** Observer of peers that completed the handshake. */
export interface PeerObserver {
  established(peer: Peer): void;
  closed(peer: Peer, reason: string): void;
}

/** Everything in the context that the manager does not provide itself. */
export type PeerManagerDeps = Omit<PeerContext, 'peers' | 'misbehaving'> & {
  readonly slots: OutboundSlots;
  readonly observer?: PeerObserver;
  /** Calls a function every so many milliseconds until the signal aborts; real time where absent. */
  readonly every?: (ms: number, act: () => void, signal: AbortSignal) => void;
};

/**
 * Maximum number of blocks of one commit whose transactions are processed; after initial block download there are
 * rarely more.
 */
const MAX_BLOCKS_PER_COMMIT = 100;

/** The peer-to-peer protocol logic (Core's PeerManager). */
export class PeerManager implements PeerLogic {
  /** Clock offsets of outbound peers. */
  readonly timeOffsets = new TimeOffsets();
  readonly #ctx: PeerContext;
  readonly #observer: PeerObserver | undefined;
  readonly #all = new Map<PeerLink, Peer>();
  readonly #established = new Map<number, Peer>();
  readonly #handshake: Handshake;
  readonly #reconciliation: TxReconciliation;
  readonly #keepalive: Keepalive;
  readonly #headers: HeaderSync;
  readonly #download: BlockDownload;
  readonly #outbound: OutboundMonitor;
  readonly #recent: RecentBlock;
  readonly #announcer: BlockAnnouncer;
  readonly #compact: CompactRelay;
  readonly #txRelay: TxRelay;
  readonly #txReceiver: TxReceiver;
  readonly #addrs: AddrRelay;
  /** Transactions that are sent on connections of their own. */
  readonly privateBroadcast: PrivateBroadcast;
  readonly #messages: PeerMessages;

  constructor({ slots, observer, every = repeat, ...deps }: PeerManagerDeps, signal: AbortSignal) {
    this.#observer = observer;
    const misbehaving = (peer: Peer, what: string) => this.#misbehaving(peer, what);
    const ctx: PeerContext = { ...deps, peers: this.#established, misbehaving };
    this.#ctx = ctx;
    this.#handshake = new Handshake(ctx, {
      versionAccepted: (peer) => this.#onVersionAccepted(peer),
      established: (peer) => this.#onEstablished(peer),
    });
    this.#reconciliation = new TxReconciliation(ctx);
    this.#keepalive = new Keepalive(ctx);
    this.#headers = new HeaderSync(ctx, (peer, last) =>
      this.#download.onHeadersAccepted(peer, last, ctx.clock.monotonicMs()),
    );
    this.#download = new BlockDownload(ctx, { extendedChain: (peer) => this.#compact.selectHighBandwidth(peer) });
    this.#outbound = new OutboundMonitor(ctx, this.#headers, this.#download.requests, slots);
    this.#recent = new RecentBlock(ctx);
    this.#announcer = new BlockAnnouncer(ctx, this.#recent);
    this.#compact = new CompactRelay(ctx, this.#download, this.#headers);
    this.#txRelay = new TxRelay(ctx, this.#recent);
    this.#txReceiver = new TxReceiver(ctx, this.#txRelay, this.#compact);
    this.#addrs = new AddrRelay(ctx);
    this.privateBroadcast = new PrivateBroadcast(ctx, this.#keepalive);
    this.#messages = new PeerMessages(ctx, {
      handshake: this.#handshake,
      reconciliation: this.#reconciliation,
      keepalive: this.#keepalive,
      headers: this.#headers,
      download: this.#download,
      serve: new ServeBlocks(ctx, this.#recent),
      filters: new ServeFilters(ctx),
      compact: this.#compact,
      txRelay: this.#txRelay,
      txReceiver: this.#txReceiver,
      addrs: this.#addrs,
      privateBroadcast: this.privateBroadcast,
    });
    const stopListening = ctx.chain.onCommit((commit) => this.#onCommit(commit));
    const stopPassingOn = ctx.chain.onNewPowValidBlock((entry, block) =>
      this.#announcer.announceUnvalidated(entry, block),
    );
    ctx.mempool.relay.setAnnouncer(({ wtxid }) => this.#txRelay.announceTransaction(wtxid));
    every(TICK_MS, () => this.#tick(), signal);
    signal.addEventListener(
      'abort',
      () => {
        stopListening();
        stopPassingOn();
        ctx.mempool.relay.setAnnouncer(null);
      },
      { once: true },
    );
  }

  /** Returns all peers, including those in the handshake. */
  peers(): Iterable<Peer> {
    return this.#all.values();
  }

  /** Returns the transactions whose parents are missing, with the peers that announced them. */
  orphans(): ReturnType<TxReceiver['orphanage']['all']> {
    return this.#txReceiver.orphanage.all();
  }

  /** Returns how many transactions wait for their announcement, and how many may be announced now. */
  announcementBudgets(): ReturnType<TxRelay['budgets']> {
    return this.#txRelay.budgets();
  }

  /** Does all that is due now, for tests that have moved the clock. */
  checkTimers(): void {
    this.#tick();
  }

  /** Moves the timer that announces unrequested transactions again forward, for tests. */
  advanceTimers(ms: number): void {
    this.#txRelay.advanceRebroadcast(ms);
    this.privateBroadcast.advanceRetry(ms);
    this.#tick();
  }

  opened(link: PeerLink): void {
    const peer = new Peer(link, this.#ctx.clock.monotonicMs());
    this.#all.set(link, peer);
    this.#handshake.opened(peer);
  }

  closed(link: PeerLink, reason: string): void {
    const peer = this.#all.get(link);
    if (!peer) return;
    const nowMs = this.#ctx.clock.monotonicMs();
    peer.gone = true;
    this.#all.delete(link);
    if (isPrivate(peer)) {
      this.privateBroadcast.onClosed(peer);
      return;
    }
    this.#established.delete(peer.id);
    this.#headers.removePeer(peer);
    this.#download.removePeer(peer, nowMs);
    this.#compact.removePeer(peer);
    this.#txReceiver.removePeer(peer);
    this.#ctx.log[peer.inbound ? 'debug' : 'info']('peer disconnected', { peer: peer.id, reason });
    if (peer.negotiated.established) this.#observer?.closed(peer, reason);
  }

  /**
   * Processes a received message. Returns a promise only if the processing yields: for many small messages, promises
   * would dominate the cost.
   */
  message(link: PeerLink, { type, payload }: NetMessage): void | Promise<void> {
    const peer = this.#all.get(link);
    if (!peer || peer.gone || link.closed) return;
    const { log } = this.#ctx;
    if (log.enabled('debug')) log.debug('message received', { peer: peer.id, type, bytes: payload.length });
    const problem = ignoredBecause(peer, type) ?? ignoredPrivately(peer, type);
    if (problem !== null) {
      log.debug(problem, { peer: peer.id, type });
      return;
    }
    if (FILTER_MESSAGES.has(type) && !offersBloom(this.#ctx, peer)) {
      link.disconnect(`${type} without the service`);
      return;
    }
    try {
      const work = this.#messages.processMessage(peer, type, payload);
      // Tests that stop the clock find the timers of a peer checked after each of its messages, as in Core.
      if (isTimeMocked() && peer.negotiated.established) this.#tickPeer(peer, this.#ctx.clock.monotonicMs());
      return work?.catch((error) => this.#onMessageError(peer, type, payload.length, error));
    } catch (error) {
      this.#onMessageError(peer, type, payload.length, error);
    }
  }

  /** Requests a block from one peer (`getblockfrompeer`). Returns Core's error text, or null. */
  fetchBlock(id: number, entry: ChainEntry): string | null {
    const peer = this.#established.get(id);
    if (!peer) return 'Peer does not exist';
    if (!peer.servesWitness) return 'Pre-SegWit peer';
    return this.#download.fetchBlock(peer, entry, this.#ctx.clock.monotonicMs())
      ? null
      : 'Already requested from this peer';
  }

  /** Sends a ping to every peer with its next tick. */
  pingAll(): void {
    for (const { ping } of this.#established.values()) ping.queued = true;
  }

  #onMessageError(peer: Peer, type: string, bytes: number, error: unknown): void {
    if (error instanceof MessageError) {
      const { reason, verdict } = error;
      if (verdict === 'misbehaving') this.#misbehaving(peer, reason);
      else if (verdict === 'disconnect') peer.link.disconnect(`malformed ${type}`, { detail: reason });
      // As in Core: the rest of what this peer sends is still valid.
      else this.#ctx.log.debug('message ignored: it does not parse', { peer: peer.id, type, bytes, reason });
    } else this.#disconnectOnError(peer, 'message processing failed', { type, error });
  }

  /** Disconnects a peer after an internal error or when the node stops; one lost peer is better than a crash. */
  #disconnectOnError({ id, link }: Peer, what: string, facts: Record<string, unknown>): void {
    const { chain, log } = this.#ctx;
    if (chain.stopped === null) log.error(what, { peer: id, ...facts });
    link.disconnect(chain.stopped === null ? 'internal error' : 'node is stopping');
  }

  #misbehaving(peer: Peer, what: string): void {
    if (peer.gone) return;
    const { log, connections } = this.#ctx;
    // Logged at debug level for inbound peers, since an attacker could fill the log.
    log[peer.inbound ? 'debug' : 'warn']('peer misbehaved', { peer: peer.id, what });
    const { type, permissions } = peer.link;
    // Manual peers and peers with the noban permission stay connected; only the message is dropped.
    if (type === 'manual' || permissions.has('noban')) return;
    peer.gone = true;
    peer.link.disconnect('misbehaving');
    const { address } = peer.link.service;
    // All local peers, including those behind a local proxy, share one address.
    if (isLocal(address) || !isValid(address)) return;
    connections.discourage(peer.link);
    for (const { link } of this.#all.values())
      if (equalAddresses(link.service.address, address)) link.disconnect('misbehaving');
  }

  #onVersionAccepted(peer: Peer): void {
    const { link } = peer;
    // The clocks of inbound peers are not sampled, since an attacker could add any number of them.
    if (!peer.inbound) this.timeOffsets.add(peer.timeOffset);
    link.standing.hasRelevantServices = peer.servesBlocks && peer.servesWitness;
    peer.sync.preferred =
      (!peer.inbound || link.permissions.has('noban')) && link.type !== 'addr-fetch' && peer.servesBlocks;
    this.#txRelay.setUpPeer(peer);
    this.#reconciliation.offer(peer);
  }

  #onEstablished(peer: Peer): void {
    // It takes part in nothing else, so that it is not among the established peers.
    if (isPrivate(peer)) {
      this.privateBroadcast.onEstablished(peer);
      return;
    }
    this.#established.set(peer.id, peer);
    this.#reconciliation.onEstablished(peer);
    this.#observer?.established(peer);
    this.#txReceiver.addPeer(peer);
    this.#addrs.requestAddresses(peer);
    this.#tickPeer(peer, this.#ctx.clock.monotonicMs());
  }

  #onCommit({ tip, connected, disconnected }: ChainCommit): void {
    const { chain } = this.#ctx;
    this.#outbound.onNewTip();
    this.#recent.setTip(tip);
    if (disconnected.length > 0) this.#txReceiver.onBlocksDisconnected();
    if (chain.initialSync) return;
    this.#txReceiver.onBlocksConnected(
      connected.slice(-MAX_BLOCKS_PER_COMMIT).map((entry) => this.#recent.readBlock(entry)),
    );
    this.#announcer.onNewTip(connected);
  }

  #tick(): void {
    const nowMs = this.#ctx.clock.monotonicMs();
    this.#txRelay.queueReleased(nowMs);
    for (const peer of this.#all.values())
      try {
        if (peer.negotiated.established) this.#tickPeer(peer, nowMs);
      } catch (error) {
        this.#disconnectOnError(peer, 'peer tick failed', { error });
      }
    this.#outbound.checkOutboundPeers(nowMs);
    this.#txRelay.rebroadcast(nowMs);
    this.privateBroadcast.retryStale(nowMs);
  }

  #tickPeer(peer: Peer, nowMs: number): void {
    if (peer.gone || peer.link.closed) return;
    if (isPrivate(peer)) {
      this.privateBroadcast.tick(peer, nowMs);
      return;
    }
    this.#keepalive.tick(peer, nowMs);
    this.#headers.tick(peer, nowMs);
    this.#announcer.tick(peer);
    this.#addrs.tick(peer, nowMs);
    this.#txRelay.tick(peer, nowMs);
    this.#txReceiver.tick(peer);
    this.#outbound.considerEviction(peer, nowMs);
    this.#download.tick(peer, nowMs);
  }
}

/** Returns why a message is ignored, or null. Unknown ones are, as later protocol versions may add some. */
function ignoredBecause({ negotiated }: Peer, type: string): string | null {
  if (negotiated.version === null) return type === 'version' ? null : 'message ignored: it came before version';
  if (!negotiated.established && !HANDSHAKE_MESSAGES.has(type)) return 'message ignored: it came before verack';
  return isMessageType(type) ? null : 'message ignored: its type is unknown';
}

function isPrivate({ link }: Peer): boolean {
  return link.type === 'private-broadcast';
}

/** Returns why a message is ignored on the connection of a private broadcast; null on others. */
function ignoredPrivately(peer: Peer, type: string): string | null {
  const isNeeded = !isPrivate(peer) || !peer.negotiated.established || PRIVATE_MESSAGES.has(type);
  return isNeeded ? null : 'message ignored: the connection is for a private broadcast';
}

function repeat(ms: number, act: () => void, signal: AbortSignal): void {
  const timer = setInterval(act, ms);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}
