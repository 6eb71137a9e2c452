import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { AddrManager, Selected } from '../address/addr-manager.ts';
import type { NetService, PeerAddress } from '../address/net-address.ts';
import { isValid } from '../address/ranges.ts';
import { mayKnowAddresses } from '../services.ts';
import type { RoutableNetwork } from './network-routes.ts';

/** Maximum number of addresses considered per round. */
const MAX_TRIES = 100;
/** Number of addresses after which the thread yields: selection is slow if few addresses are known. */
const YIELD_AFTER = 10;
/** Number of attempts after which recently tried addresses, and bad ports, are accepted. */
const RECENT_AFTER = 30;
const BAD_PORT_AFTER = 50;
const RECENT_SECONDS = 600;

type Test = (service: NetService) => boolean;

export interface AddressChoice {
  readonly addresses: Pick<AddrManager, 'select' | 'selectTriedCollision' | 'good'>;
  readonly networks: readonly RoutableNetwork[];
  /** Whether the connection is a feeler, which only checks whether the address has a node. */
  readonly isFeeler: boolean;
  readonly clock: Clock;
  /** Returns whether there is a connection to the network group. */
  readonly isGroupConnected: Test;
  readonly isReachable: Test;
  readonly isLocal: Test;
  readonly isConnected: Test;
  /** Returns whether the operator added the address, which then uses a manual slot. */
  readonly isAdded: Test;
  readonly isDesirable: (services: bigint) => boolean;
}

/** Chooses an address for an automatic connection (Core's ThreadOpenConnections); null if none is suitable. */
export async function chooseAddress(choice: AddressChoice): Promise<PeerAddress | null> {
  const { isFeeler, isGroupConnected, isReachable, isLocal, isAdded, isDesirable } = choice;
  const now = unixSeconds(choice.clock);
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    if (tries % YIELD_AFTER === 0) await new Promise((resolve) => setImmediate(resolve));
    const selected = isFeeler ? feelerAddress(choice) : select(choice, false);
    if (selected === null) return null;
    const { peer, lastTry } = selected;
    const { address, services, port } = peer;
    if (!isFeeler && isGroupConnected(peer)) continue;
    if (!isValid(address) || isLocal(peer)) return null;
    if (!isReachable(peer)) continue;
    if (now - lastTry < RECENT_SECONDS && tries < RECENT_AFTER) continue;
    if (!(isFeeler ? mayKnowAddresses(services) : isDesirable(services))) continue;
    const isIp = address.network === 'ipv4' || address.network === 'ipv6';
    if (isIp && isBadPort(port) && tries < BAD_PORT_AFTER) continue;
    if (isAdded(peer)) continue;
    return peer;
  }
  return null;
}

/** Returns a tried address to be tested after a collision, or a new address that was never tried. */
function feelerAddress(choice: AddressChoice): Selected | null {
  const tested = choice.addresses.selectTriedCollision();
  if (tested === null) return select(choice, true);
  if (!choice.isConnected(tested.peer)) return tested;
  // A connected address is proven; another connection attempt would fail and evict it.
  choice.addresses.good(tested.peer);
  return select(choice, true);
}

/** Returns null if no network is reachable, since an empty list would mean all networks. */
function select({ addresses, networks }: AddressChoice, newOnly: boolean): Selected | null {
  return networks.length === 0 ? null : addresses.select({ newOnly, networks });
}

/**
 * Ports of other services, on which nodes do not listen; an attacker may announce them to make nodes attack these
 * services. As in Core, automatic connections use such a port only if nothing else is found.
 */
const BAD_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3306, 3389, 3659, 4045, 5060,
  5061, 5432, 5900, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 10080, 27017,
]);

function isBadPort(port: number): boolean {
  return BAD_PORTS.has(port);
}
