import { type AddressNetwork, hasCjdnsPrefix, type NetAddress, type NetService } from '../address/net-address.ts';
import { networkOf } from '../address/net-group.ts';
import type { DialTarget } from './dial.ts';

/** Networks that can be connected to, as named in settings. */
const ROUTABLE_NETWORKS = ['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns'] as const;
export type RoutableNetwork = (typeof ROUTABLE_NETWORKS)[number];

/** SOCKS5 proxies by network; null for none. For `onion`, an absent one may be replaced by that of Tor itself. */
type NetworkProxies = Readonly<Partial<Record<Exclude<RoutableNetwork, 'i2p'>, DialTarget | null>>>;

export interface RouteOptions {
  readonly proxies: NetworkProxies;
  /** SOCKS5 proxy that resolves host names; null for DNS. */
  readonly nameProxy: DialTarget | null;
  /** Whether each connection through a proxy has its own credentials. */
  readonly proxyRandomize: boolean;
  /** SAM port of an I2P router; null for none. */
  readonly i2pSam: DialTarget | null;
  /** Whether addresses of fc00::/8 are those of CJDNS. */
  readonly cjdns: boolean;
  /** Empty for all networks. */
  readonly onlyNetworks: readonly RoutableNetwork[];
}

export interface NetworkRoute {
  readonly network: RoutableNetwork;
  readonly reachable: boolean;
  /** The SOCKS5 proxy, or the SAM port; null for none. */
  readonly proxy: DialTarget | null;
  readonly randomizesCredentials: boolean;
}

/** The reachable networks and their proxies. */
export class Routes {
  readonly #options: RouteOptions;
  /** The proxy that Tor has named over its control port. */
  #torProxy: DialTarget | null = null;

  #networks: readonly RoutableNetwork[];

  constructor(options: RouteOptions) {
    this.#options = options;
    this.#networks = this.#reachableNetworks();
  }

  /** Networks on which peers are searched. */
  get networks(): readonly RoutableNetwork[] {
    return this.#networks;
  }

  /** Whether connections through a proxy have their own credentials. */
  get randomizesCredentials(): boolean {
    return this.#options.proxyRandomize;
  }

  /** The proxy that resolves host names, so that DNS servers do not learn them. */
  get nameProxy(): DialTarget | null {
    return this.#options.nameProxy;
  }

  /** Sets the proxy for onion services for which no other one is configured. */
  setTorProxy(proxy: DialTarget): void {
    this.#torProxy = proxy;
    this.#networks = this.#reachableNetworks();
  }

  /** Returns whether peers are searched on the network of the address. */
  isReachable(address: NetAddress): boolean {
    return (this.networks as readonly string[]).includes(networkOf(address));
  }

  /** Returns all networks, as for `getnetworkinfo`. */
  list(): NetworkRoute[] {
    const { networks } = this;
    return ROUTABLE_NETWORKS.map((network) => {
      const proxy = network === 'i2p' ? this.#options.i2pSam : this.#proxyOf(network);
      return {
        network,
        reachable: networks.includes(network),
        proxy,
        randomizesCredentials: proxy !== null && network !== 'i2p' && this.randomizesCredentials,
      };
    });
  }

  /** Returns whether the address can be connected to at all; operators may add addresses of any network. */
  canDial({ network }: NetAddress): boolean {
    return network !== 'internal' && this.#hasRoute(network);
  }

  /** Returns the SOCKS5 proxy for an address; null for none, as for unroutable addresses. */
  proxyFor(address: NetAddress): DialTarget | null {
    const network: AddressNetwork | 'unroutable' = networkOf(address);
    return network === 'unroutable' || network === 'internal' || network === 'i2p' ? null : this.#proxyOf(network);
  }

  /** The proxy for onion services; null for none. */
  get onionProxy(): DialTarget | null {
    return this.#proxyOf('onion');
  }

  /**
   * Core's MaybeFlipIPv6toCJDNS: returns an address of fc00::/8 as one of CJDNS where this host is part of it. Text and
   * sockets do not distinguish the two.
   */
  resolveCjdns(address: NetAddress): NetAddress {
    const isCjdns = address.network === 'ipv6' && hasCjdnsPrefix(address) && this.#options.cjdns;
    return isCjdns ? { network: 'cjdns', bytes: address.bytes } : address;
  }

  /** Returns the service with its address resolved by `resolveCjdns`. */
  resolveCjdnsOf({ address, port }: NetService): NetService {
    return { address: this.resolveCjdns(address), port };
  }

  #reachableNetworks(): RoutableNetwork[] {
    const { onlyNetworks } = this.#options;
    const wanted: readonly RoutableNetwork[] = onlyNetworks.length > 0 ? onlyNetworks : ROUTABLE_NETWORKS;
    return ROUTABLE_NETWORKS.filter((network) => wanted.includes(network) && this.#hasRoute(network));
  }

  #proxyOf(network: Exclude<RoutableNetwork, 'i2p'>): DialTarget | null {
    const configured = this.#options.proxies[network];
    // Null stands for none, also where Tor has named one.
    if (configured !== undefined) return configured;
    return network === 'onion' ? this.#torProxy : null;
  }

  #hasRoute(network: RoutableNetwork): boolean {
    if (network === 'onion') return this.#proxyOf('onion') !== null;
    if (network === 'i2p') return this.#options.i2pSam !== null;
    return network !== 'cjdns' || this.#options.cjdns;
  }
}
