import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { AddrManager, Selected } from '../address/addr-manager.ts';
import type { NetService, PeerAddress } from '../address/net-address.ts';
import { isValid } from '../address/ranges.ts';
import { mayKnowAddresses } from '../services.ts';
import { isBadPort } from './bad-ports.ts';
import type { RoutableNetwork } from './routes.ts';

/** So many are looked at before the next round. */
const MAX_TRIES = 100;
/** After so many, others have their turn: where few addresses are known, drawing one of them takes long. */
const TRIES_AT_ONCE = 10;
/** After so many, one will do that was tried a short time ago, or that has a bad port. */
const RECENT_AFTER = 30;
const BAD_PORT_AFTER = 50;
const RECENT_SECONDS = 600;

type Test = (service: NetService) => boolean;

export interface AddressChoice {
  readonly addresses: Pick<AddrManager, 'select' | 'selectTriedCollision' | 'good'>;
  readonly networks: readonly RoutableNetwork[];
  /** Only to see whether there is a node. */
  readonly isFeeler: boolean;
  readonly clock: Clock;
  /** There is a connection to its group. */
  readonly isTaken: Test;
  readonly isReachable: Test;
  readonly isLocal: Test;
  readonly isConnected: Test;
  /** An operator has named it, so that it has a place of its own. */
  readonly isAdded: Test;
  readonly isDesirable: (services: bigint) => boolean;
}

/** An address for an automatic connection; null where none was found that is good enough. */
export async function chooseAddress(choice: AddressChoice): Promise<PeerAddress | null> {
  const { isFeeler, isTaken, isReachable, isLocal, isAdded, isDesirable } = choice;
  const now = unixSeconds(choice.clock);
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    if (tries % TRIES_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve));
    const selected = isFeeler ? feelerAddress(choice) : select(choice, false);
    if (selected === null) return null;
    const { peer, lastTry } = selected;
    const { address, services, port } = peer;
    if (!isFeeler && isTaken(peer)) continue;
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

/** A tried address that has to prove itself, else one that was never tried. */
function feelerAddress(choice: AddressChoice): Selected | null {
  const tested = choice.addresses.selectTriedCollision();
  if (tested === null) return select(choice, true);
  if (!choice.isConnected(tested.peer)) return tested;
  // It proves itself all the time; to dial it again would fail and throw it out.
  choice.addresses.good(tested.peer);
  return select(choice, true);
}

/** Where no network can be reached, none may stand for all. */
function select({ addresses, networks }: AddressChoice, newOnly: boolean): Selected | null {
  return networks.length === 0 ? null : addresses.select({ newOnly, networks });
}
