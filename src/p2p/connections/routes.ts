import type { AddressNetwork, NetAddress } from '../address/net-address.ts';
import { networkOf } from '../address/net-group.ts';
import type { Endpoint } from './dial.ts';

/** Networks that nodes can be reached over, as a setting names them. I2P and CJDNS need routers that are not spoken to. */
const ROUTABLE_NETWORKS = ['ipv4', 'ipv6', 'onion'] as const;
export type RoutableNetwork = (typeof ROUTABLE_NETWORKS)[number];

export interface RouteOptions {
  /** SOCKS5, for every network. */
  readonly proxy: Endpoint | null;
  /** SOCKS5, for onion services in place of the other. */
  readonly onionProxy: Endpoint | null;
  /** None for all. */
  readonly onlyNetworks: readonly RoutableNetwork[];
}

/** Which networks can be reached, and how. */
export class Routes {
  readonly #proxy: Endpoint | null;
  readonly #onionProxy: Endpoint | null;
  /** Those that peers are looked for on. */
  readonly networks: readonly RoutableNetwork[];

  constructor({ proxy, onionProxy, onlyNetworks }: RouteOptions) {
    this.#proxy = proxy;
    this.#onionProxy = onionProxy ?? proxy;
    const wanted = onlyNetworks.length > 0 ? onlyNetworks : ROUTABLE_NETWORKS;
    this.networks = ROUTABLE_NETWORKS.filter(
      (network) => wanted.includes(network) && (network !== 'onion' || this.#onionProxy !== null),
    );
  }

  /** Whether peers are looked for on the address's network. */
  isReachable(address: NetAddress): boolean {
    return (this.networks as readonly string[]).includes(networkOf(address));
  }

  /** All networks, as RPC lists them. */
  list(): { readonly network: AddressNetwork; readonly reachable: boolean; readonly proxy: Endpoint | null }[] {
    return (['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns'] as const).map((network) => ({
      network,
      reachable: (this.networks as readonly string[]).includes(network),
      proxy: network === 'onion' ? this.#onionProxy : network === 'i2p' || network === 'cjdns' ? null : this.#proxy,
    }));
  }

  /** Whether the address can be dialled at all. An operator may name one of any network. */
  canDial({ network }: NetAddress): boolean {
    return network === 'onion' ? this.#onionProxy !== null : network === 'ipv4' || network === 'ipv6';
  }

  /** The proxy to go through; null for none, as to addresses that are on no public network. */
  proxyFor(address: NetAddress): Endpoint | null {
    const network: AddressNetwork | 'unroutable' = networkOf(address);
    return network === 'unroutable' ? null : network === 'onion' ? this.#onionProxy : this.#proxy;
  }

  /** The proxy that resolves names, so that nobody else learns them. */
  get nameProxy(): Endpoint | null {
    return this.#proxy;
  }
}
