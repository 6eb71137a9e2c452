import type { Log } from '../../util/log.ts';
import type { RandomBelow } from '../../util/random.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import { isValid } from '../address/ranges.ts';
import { hasServices, SERVICES } from '../services.ts';
import type { ConnectionTable } from './connection-table.ts';
import type { Dialer } from './dialer.ts';
import type { LocalAddresses } from './local-addresses.ts';
import type { RoutableNetwork, Routes } from './network-routes.ts';
import type { Timing } from './timing.ts';

/** Limit of such connections at a time, as in Core. */
const MAX_CONNECTIONS = 64;
/** Limit of connections that are wanted. */
const MAX_WANTED = 30_000;
const IDLE_MS = 100;
const INACTIVE_MS = 5000;
const NO_ADDRESS_MS = 500;
/** Pause while Tor is not reachable, milliseconds. */
const UNREACHABLE_MS = 5000;

export interface PrivateConnectionsParts {
  readonly table: ConnectionTable;
  readonly dialer: Dialer;
  readonly addresses: AddrManager;
  readonly local: LocalAddresses;
  readonly routes: Routes;
  readonly timing: Timing;
  readonly random: RandomBelow;
  readonly log: Log;
  readonly v2: boolean;
  readonly active: () => boolean;
  /** Whether an onion service was connected to, so that the proxy is one of Tor. */
  readonly hasReachedOnion: () => boolean;
}

/**
 * Opens connections for the private broadcast of transactions through Tor: to onion services, and by the same proxy to other
 * nodes as soon as it has proven to be one of Tor.
 */
export class PrivateConnections {
  readonly #parts: PrivateConnectionsParts;
  #wanted = 0;

  constructor(parts: PrivateConnectionsParts) {
    this.#parts = parts;
  }

  /** Changes the number of connections to open; it stays at least 0. */
  add(count: number): void {
    this.#wanted = Math.min(MAX_WANTED, Math.max(0, this.#wanted + count));
  }

  /** Runs until the signal aborts; rejects with its reason. */
  async run(signal: AbortSignal): Promise<never> {
    const { timing, table, active } = this.#parts;
    for (;;) {
      const isFull = table.count('private-broadcast') >= MAX_CONNECTIONS;
      if (!active()) await timing.sleep(INACTIVE_MS, signal);
      else if (this.#wanted === 0 || isFull || !(await this.#openOne(signal))) await timing.sleep(IDLE_MS, signal);
    }
  }

  /** Opens a connection to a random address. Returns whether it is open. */
  async #openOne(signal: AbortSignal): Promise<boolean> {
    const { addresses, local, routes, dialer, timing, log, v2 } = this.#parts;
    const to = this.#chooseNetwork();
    const peer = to && (addresses.select({ newOnly: false, networks: [to.network] })?.peer ?? null);
    if (to === null || peer === null || !isValid(peer.address) || local.isLocal(peer.address)) {
      if (to === null) log.warn('a private broadcast waits: Tor is not reachable');
      await timing.sleep(to === null ? UNREACHABLE_MS : NO_ADDRESS_MS, signal);
      return false;
    }
    const speaksV2 = v2 && hasServices(peer.services, SERVICES.p2pV2);
    const proxy = routes.onionProxy;
    const link = await dialer.open(
      { type: 'private-broadcast', to: peer, v2: speaksV2, countFailure: true, proxy },
      signal,
    );
    if (link === null) return false;
    this.add(-1);
    return true;
  }

  #chooseNetwork(): { readonly network: RoutableNetwork } | null {
    const { routes, random, hasReachedOnion } = this.#parts;
    if (!routes.networks.includes('onion')) return null;
    const networks = routes.networks.filter(
      (network) => network === 'onion' || (hasReachedOnion() && (network === 'ipv4' || network === 'ipv6')),
    );
    return { network: networks[random(networks.length)]! };
  }
}
