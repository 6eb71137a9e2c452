import type { Clock } from '../../util/clock.ts';
import type { RandomBelow } from '../../util/random.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import { type PeerAddress, serviceKey } from '../address/net-address.ts';
import type { PeerLink } from './peer-link.ts';

/** Core's limits of an answer: number of addresses, and percentage of all addresses. */
const MAX_ADDRESSES = 1000;
const MAX_PERCENT = 23;
const HOUR_MS = 3_600_000;
const LEAST_LIFE_MS = 21 * HOUR_MS;
const LIFE_SPREAD_MS = 6 * HOUR_MS;
/** Maximum number of cached answers, one per network of the peers and local address; the oldest is evicted. */
const MAX_CACHED = 64;

interface Answer {
  readonly peers: readonly PeerAddress[];
  readonly untilMs: number;
}

/**
 * Answers to `getaddr`. All peers of one network and local address get the same answer for about a day, so that an
 * observer can neither collect all addresses by asking often nor prove that two addresses belong to one node.
 */
export class AddrResponseCache {
  readonly #addresses: AddrManager;
  readonly #isShunned: (peer: PeerAddress) => boolean;
  readonly #clock: Clock;
  readonly #random: RandomBelow;
  readonly #cache = new Map<string, Answer>();

  constructor(addresses: AddrManager, isShunned: (peer: PeerAddress) => boolean, clock: Clock, random: RandomBelow) {
    this.#addresses = addresses;
    this.#isShunned = isShunned;
    this.#clock = clock;
    this.#random = random;
  }

  responseFor(link: PeerLink): readonly PeerAddress[] {
    if (link.permissions.has('addr')) return this.#draw();
    const key = keyOf(link);
    const now = this.#clock.nowMs();
    const cached = this.#cache.get(key);
    if (cached !== undefined && now <= cached.untilMs) return cached.peers;
    const peers = this.#draw();
    this.#cache.delete(key);
    if (this.#cache.size >= MAX_CACHED) this.#cache.delete(this.#cache.keys().next().value!);
    this.#cache.set(key, { peers, untilMs: now + LEAST_LIFE_MS + this.#random(LIFE_SPREAD_MS) });
    return peers;
  }

  #draw(): PeerAddress[] {
    return this.#addresses.getAddresses(MAX_ADDRESSES, MAX_PERCENT).filter((peer) => !this.#isShunned(peer));
  }
}

/** Returns the cache key. The local port of an outbound connection is random, so it is left out. */
function keyOf({ network, type, localService }: PeerLink): string {
  if (localService === null) return network;
  return `${network} ${serviceKey(type === 'inbound' ? localService : { ...localService, port: 0 })}`;
}
