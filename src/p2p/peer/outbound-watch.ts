import { locatorOf } from '../../chain/locator.ts';
import { unixSeconds } from '../../util/clock.ts';
import { canDirectFetch } from '../relay/recent-block.ts';
import type { BlockRequests } from '../sync/block-requests.ts';
import type { HeaderSync } from '../sync/header-sync.ts';
import type { PeerContext } from './context.ts';
import type { Peer } from './peer.ts';

/** An outbound peer has so long to show a chain as good as ours was, and then once more so long. */
const CHAIN_SYNC_MS = 20 * 60_000;
const LAST_CHANCE_MS = 2 * 60_000;
const EXTRA_CHECK_MS = 45_000;
const STALE_CHECK_MS = 10 * 60_000;
/** A tip this many spacings old may be kept from us. */
const STALE_SPACINGS = 3;
/** A new connection is left alone this long. */
const MIN_CONNECTED_S = 30;

/** What is wanted of the outbound slots. */
export interface OutboundSlots {
  /** Connections beyond those that there should be. */
  extraFullRelay(): number;
  extraBlockRelay(): number;
  /** Whether another manual or full-relay connection is in the same network. */
  hasCompany(peer: Peer): boolean;
}

/** Sees to it that outbound peers keep up with the best chain, and that one which does not makes room for another. */
export class OutboundWatch {
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

  /** The chain has a new tip. */
  moved(): void {
    this.#lastTipAt = this.#ctx.clock.monotonicMs();
  }

  /** Lets go of a peer whose chain stays behind. */
  tick(peer: Peer, nowMs: number): void {
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
      // Seen for the first time; or it has caught up with what our tip was then.
      watch.deadline = nowMs + CHAIN_SYNC_MS;
      watch.work = tip;
      watch.sentGetHeaders = false;
    } else if (nowMs > watch.deadline) {
      if (watch.sentGetHeaders) {
        this.#ctx.log.info('an outbound peer has an old chain', { peer: peer.id });
        link.disconnect('outbound peer has old chain');
        return;
      }
      const from = watch.work!;
      this.#headers.ask(peer, locatorOf(from.parent ?? from));
      watch.sentGetHeaders = true;
      watch.deadline = nowMs + LAST_CHANCE_MS;
    }
  }

  /** Once in a while for all: connections beyond the slots, and whether the tip may be stale. */
  check(nowMs: number): void {
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
        log.info('no new block for long: another outbound peer is looked for', { seconds: age / 1000 });
    }
    if (!this.#synced && canDirectFetch(this.#ctx)) {
      this.#synced = true;
      connections.allowExtraBlockRelay(true);
    }
  }

  /** The youngest goes, unless it brought a block later than the one before it. */
  #dropExtraBlockRelay(): void {
    if (this.#slots.extraBlockRelay() <= 0) return;
    const [youngest, next] = this.#all('block-relay-only').sort((a, b) => b.id - a.id);
    if (!youngest) return;
    const lastBlock = (peer: Peer) => peer.link.standing.lastBlockAt;
    this.#drop(next && lastBlock(youngest) > lastBlock(next) ? next : youngest, 'extra block-relay-only peer');
  }

  /** The one whose last announcement is the oldest goes; of several, the youngest. */
  #dropExtraFullRelay(): void {
    if (this.#slots.extraFullRelay() <= 0) return;
    const worst = this.#all('outbound-full-relay')
      .filter((peer) => !peer.sync.chain.protected && this.#slots.hasCompany(peer))
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
