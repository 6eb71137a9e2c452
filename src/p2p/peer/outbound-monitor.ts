import { locatorOf } from '../../chain/chain-entry.ts';
import { unixSeconds } from '../../util/clock.ts';
import { canDirectFetch } from '../relay/recent-block.ts';
import type { BlockRequests } from '../sync/block-requests.ts';
import type { HeaderSync } from '../sync/header-sync.ts';
import type { Peer } from './peer.ts';
import type { PeerContext } from './peer-context.ts';

/**
 * Time for an outbound peer to announce a chain with as much work as our tip had; then time to answer a last
 * `getheaders` (Core's ConsiderEviction).
 */
const CHAIN_SYNC_MS = 20 * 60_000;
const LAST_CHANCE_MS = 2 * 60_000;
const EXTRA_CHECK_MS = 45_000;
const STALE_CHECK_MS = 10 * 60_000;
/** Age of the tip in block intervals after which it may be stale. */
const STALE_SPACINGS = 3;
/** Minimum age of a connection before it may be dropped, seconds. */
const MIN_CONNECTED_S = 30;

/** State of the outbound connections. */
export interface OutboundSlots {
  /** Number of connections beyond the target of each type. */
  extraFullRelay(): number;
  extraBlockRelay(): number;
  /** Returns whether another manual or full-relay connection is in the same network. */
  isNotOnlyOfNetwork(peer: Peer): boolean;
}

/** Replaces outbound peers whose chain falls behind, drops extra outbound peers and detects a stale tip. */
export class OutboundMonitor {
  readonly #ctx: PeerContext;
  readonly #headers: HeaderSync;
  readonly #requests: BlockRequests;
  readonly #slots: OutboundSlots;
  #lastTipAt: number;
  #nextExtraCheck: number;
  #nextStaleCheck: number;
  #synced = false;

  constructor(ctx: PeerContext, headers: HeaderSync, requests: BlockRequests, slots: OutboundSlots) {
    this.#ctx = ctx;
    this.#headers = headers;
    this.#requests = requests;
    this.#slots = slots;
    const nowMs = ctx.clock.monotonicMs();
    this.#lastTipAt = nowMs;
    this.#nextExtraCheck = nowMs + EXTRA_CHECK_MS;
    this.#nextStaleCheck = nowMs + STALE_CHECK_MS;
  }

  /** Records a new tip. */
  onNewTip(): void {
    this.#lastTipAt = this.#ctx.clock.monotonicMs();
  }

  /** Core's ConsiderEviction: disconnects an outbound peer whose chain does not catch up with ours. */
  considerEviction(peer: Peer, nowMs: number): void {
    const { sync, link } = peer;
    const { chain: watch } = sync;
    const outbound = link.type === 'outbound-full-relay' || link.type === 'block-relay-only';
    if (!outbound || watch.protected || !sync.started) return;
    const { tip } = this.#ctx.chain;
    const work = sync.bestKnown?.chainwork ?? -1n;
    if (work >= tip.chainwork) {
      watch.deadline = 0;
      watch.work = null;
      watch.sentGetHeaders = false;
    } else if (watch.deadline === 0 || (watch.work !== null && work >= watch.work.chainwork)) {
      // Starts a new deadline: the peer is behind for the first time, or it caught up with our earlier tip.
      watch.deadline = nowMs + CHAIN_SYNC_MS;
      watch.work = tip;
      watch.sentGetHeaders = false;
    } else if (nowMs > watch.deadline) {
      if (watch.sentGetHeaders) {
        this.#ctx.log.info('outbound peer disconnected: its chain is behind ours', { peer: peer.id });
        link.disconnect('outbound peer has old chain');
        return;
      }
      const from = watch.work!;
      this.#headers.maybeSendGetHeaders(peer, locatorOf(from.parent ?? from));
      watch.sentGetHeaders = true;
      watch.deadline = nowMs + LAST_CHANCE_MS;
    }
  }

  /**
   * Periodic checks: drops extra outbound connections and tests whether the tip is stale (Core's
   * CheckForStaleTipAndEvictPeers).
   */
  checkOutboundPeers(nowMs: number): void {
    if (nowMs < this.#nextExtraCheck) return;
    this.#nextExtraCheck = nowMs + EXTRA_CHECK_MS;
    const { connections, params, log } = this.#ctx;
    this.#dropExtraBlockRelay();
    this.#dropExtraFullRelay();
    if (nowMs >= this.#nextStaleCheck) {
      this.#nextStaleCheck = nowMs + STALE_CHECK_MS;
      const age = nowMs - this.#lastTipAt;
      const stale = age > STALE_SPACINGS * params.consensus.powTargetSpacing * 1000 && this.#requests.size === 0;
      if (connections.allowExtraFullRelay(stale) && stale)
        log.info('tip may be stale: opening an extra outbound connection', { seconds: age / 1000 });
    }
    if (!this.#synced && canDirectFetch(this.#ctx)) {
      this.#synced = true;
      connections.allowExtraBlockRelay(true);
    }
  }

  /** Drops the youngest peer, or the next youngest if that one received a block less recently. */
  #dropExtraBlockRelay(): void {
    if (this.#slots.extraBlockRelay() <= 0) return;
    const [youngest, next] = this.#all('block-relay-only').sort((a, b) => b.id - a.id);
    if (!youngest) return;
    const lastBlock = (peer: Peer) => peer.link.standing.lastBlockAt;
    this.#drop(next && lastBlock(youngest) > lastBlock(next) ? next : youngest, 'extra block-relay-only peer');
  }

  /** Drops the peer with the oldest block announcement; among equals the youngest peer. */
  #dropExtraFullRelay(): void {
    if (this.#slots.extraFullRelay() <= 0) return;
    const worst = this.#all('outbound-full-relay')
      .filter((peer) => !peer.sync.chain.protected && this.#slots.isNotOnlyOfNetwork(peer))
      .sort((a, b) => a.sync.lastAnnouncementAt - b.sync.lastAnnouncementAt || b.id - a.id)[0];
    if (worst && this.#drop(worst, 'extra outbound peer')) this.#ctx.connections.allowExtraFullRelay(false);
  }

  #all(type: Peer['link']['type']): Peer[] {
    return [...this.#ctx.peers.values()].filter((peer) => peer.link.type === type && !peer.gone);
  }

  #drop(peer: Peer, reason: string): boolean {
    const connected = unixSeconds(this.#ctx.clock) - peer.link.openedAt;
    if (connected <= MIN_CONNECTED_S || peer.sync.inFlight.length > 0) return false;
    peer.link.disconnect(reason);
    return true;
  }
}
