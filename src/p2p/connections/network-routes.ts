import type { AddressNetwork, NetAddress } from '../address/net-address.ts';
import { networkOf } from '../address/net-group.ts';
import type { DialTarget } from './dial.ts';

/** Networks that can be connected to, as named in settings. I2P and CJDNS need routers that are not supported. */
const ROUTABLE_NETWORKS = ['ipv4', 'ipv6', 'onion'] as const;
export type RoutableNetwork = (typeof ROUTABLE_NETWORKS)[number];

export interface RouteOptions {
  /** SOCKS5 proxy for all networks. */
  readonly proxy: DialTarget | null;
  /** SOCKS5 proxy for onion services, instead of the general one. */
  readonly onionProxy: DialTarget | null;
  /** Empty for all networks. */
  readonly onlyNetworks: readonly RoutableNetwork[];
}

/** The reachable networks and their proxies. */
export class Routes {
  readonly #proxy: DialTarget | null;
  readonly #onionProxy: DialTarget | null;
  /** Networks on which peers are searched. */
  readonly networks: readonly RoutableNetwork[];

  constructor({ proxy, onionProxy, onlyNetworks }: RouteOptions) {
    this.#proxy = proxy;
    this.#onionProxy = onionProxy ?? proxy;
    const wanted = onlyNetworks.length > 0 ? onlyNetworks : ROUTABLE_NETWORKS;
    this.networks = ROUTABLE_NETWORKS.filter(
      (network) => wanted.includes(network) && (network !== 'onion' || this.#onionProxy !== null),
    );
  }

  /** Returns whether peers are searched on the network of the address. */
  isReachable(address: NetAddress): boolean {
    return (this.networks as readonly string[]).includes(networkOf(address));
  }

  /** Returns all networks, as for `getnetworkinfo`. */
  list(): { readonly network: AddressNetwork; readonly reachable: boolean; readonly proxy: DialTarget | null }[] {
    return (['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns'] as const).map((network) => ({
      network,
      reachable: (this.networks as readonly string[]).includes(network),
      proxy: network === 'onion' ? this.#onionProxy : network === 'i2p' || network === 'cjdns' ? null : this.#proxy,
    }));
  }

  /** Returns whether the address can be connected to at all; operators may add addresses of any network. */
  canDial({ network }: NetAddress): boolean {
    return network === 'onion' ? this.#onionProxy !== null : network === 'ipv4' || network === 'ipv6';
  }

  /** Returns the proxy for an address; null for none, as for unroutable addresses. */
  proxyFor(address: NetAddress): DialTarget | null {
    const network: AddressNetwork | 'unroutable' = networkOf(address);
    return network === 'unroutable' ? null : network === 'onion' ? this.#onionProxy : this.#proxy;
  }

  /** The proxy that resolves host names, so that DNS servers do not learn them. */
  get nameProxy(): DialTarget | null {
    return this.#proxy;
  }
}
