import type { RandomBelow } from '../../util/random.ts';
import { equalAddresses, type NetAddress, type NetService } from '../address/net-address.ts';
import { networkOf, reachabilityFrom } from '../address/net-group.ts';
import { isRoutable } from '../address/ranges.ts';
import type { Routes } from './network-routes.ts';
import type { PeerLink } from './peer-link.ts';

/**
 * Initial score of a local address by its origin (Core's LOCAL_IF, LOCAL_BIND, LOCAL_MANUAL). Each peer that sees us at
 * the address adds one.
 */
export const LOCAL_SCORES = { interface: 1, bound: 2, manual: 4 } as const;

/** Maximum number of local addresses. */
const MAX_ADDRESSES = 256;
const MAX_SCORE = 0x7fff_ffff;

export interface LocalAddress {
  readonly service: NetService;
  readonly score: number;
}

export interface LocalAddressOptions {
  readonly listening: boolean;
  readonly port: number;
  /** Whether to discover addresses that are not configured. */
  readonly discover: boolean;
}

/** Our addresses as peers can reach them, and the choice of the one to announce to a peer. */
export class LocalAddresses {
  readonly #options: LocalAddressOptions;
  readonly #routes: Routes;
  readonly #random: RandomBelow;
  #addresses: LocalAddress[] = [];
  /** The port on which we listen, as far as known. */
  port: number;

  constructor(options: LocalAddressOptions, routes: Routes, random: RandomBelow) {
    this.#options = options;
    this.port = options.port;
    this.#routes = routes;
    this.#random = random;
  }

  list(): readonly LocalAddress[] {
    return this.#addresses;
  }

  /** Core's AddLocal: adds an address, or raises the score of a known one. Returns whether it is usable. */
  add(service: NetService, score: number): boolean {
    const { address } = service;
    if (!isRoutable(address) || (!this.#options.discover && score < LOCAL_SCORES.manual)) return false;
    if (!this.#routes.isReachable(address) && score < LOCAL_SCORES.manual) return false;
    const old = this.#find(address);
    if (old === undefined) {
      if (this.#addresses.length < MAX_ADDRESSES) this.#addresses.push({ service, score });
    } else if (score >= old.score) this.#replace(old, { service, score: Math.min(score + 1, MAX_SCORE) });
    return true;
  }

  remove(address: NetAddress): void {
    this.#addresses = this.#addresses.filter(({ service }) => !equalAddresses(service.address, address));
  }

  /** Core's SeenLocal: raises the score of an address that a peer reports. Returns whether it was known. */
  seen({ address }: NetService): boolean {
    const old = this.#find(address);
    if (old !== undefined) this.#replace(old, { ...old, score: Math.min(old.score + 1, MAX_SCORE) });
    return old !== undefined;
  }

  isLocal(address: NetAddress): boolean {
    return this.#find(address) !== undefined;
  }

  /**
   * Core's GetLocalAddrForPeer: returns the address to announce to a peer that reports us at `seenAs`, or null. With
   * discovery enabled, the reported address is sometimes announced back, since the peer may know better.
   */
  forPeer(peer: PeerLink, seenAs: NetService | null): NetService | null {
    const best = this.#best(peer);
    if (seenAs !== null && this.#isUseful(peer, seenAs)) {
      const known = best === null ? 0 : (this.#find(best.address)?.score ?? 0);
      if (best === null || this.#random(known > LOCAL_SCORES.manual ? 8 : 2) === 0) {
        // An inbound peer reports the port it connected to; to an outbound peer we used a random port.
        const port = peer.type === 'inbound' ? seenAs.port : (best?.port ?? this.port);
        return { address: seenAs.address, port };
      }
    }
    return best;
  }

  #isUseful(peer: PeerLink, { address }: NetService): boolean {
    const { discover } = this.#options;
    return discover && isRoutable(peer.service.address) && isRoutable(address) && this.#routes.isReachable(address);
  }

  /** Returns the address with the best reachability from the peer, then with the highest score. */
  #best({ network, service: { address } }: PeerLink): NetService | null {
    if (!this.#options.listening) return null;
    let best: LocalAddress | null = null;
    let bestReach = -1;
    for (const local of this.#addresses) {
      const own = networkOf(local.service.address);
      // Announcing an address of one private network on another would link the two.
      if (own !== network && (isPrivate(own) || isPrivate(network))) continue;
      const reach = reachabilityFrom(local.service.address, address);
      if (reach > bestReach || (reach === bestReach && local.score > (best?.score ?? -1))) {
        best = local;
        bestReach = reach;
      }
    }
    return best?.service ?? null;
  }

  #find(address: NetAddress): LocalAddress | undefined {
    return this.#addresses.find(({ service }) => equalAddresses(service.address, address));
  }

  #replace(old: LocalAddress, by: LocalAddress): void {
    this.#addresses = this.#addresses.map((local) => (local === old ? by : local));
  }
}

function isPrivate(network: string): boolean {
  return network === 'onion' || network === 'i2p';
}
