import type { PeerStore } from '../../storage/peer-store.ts';
import { DecodeError } from '../../util/bytes.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import type { RandomBelow } from '../../util/random.ts';
import { decodeAddrTables, encodeAddrTables } from '../address/addr-file.ts';
import { AddrManager } from '../address/addr-manager.ts';

/** Returns the saved address manager; an empty one if nothing is saved or it cannot be decoded. */
export function loadAddresses(store: PeerStore, clock: Clock, random: RandomBelow, log: Log): AddrManager {
  const saved = store.addresses();
  if (saved === null) return AddrManager.create(clock, random);
  try {
    return new AddrManager(decodeAddrTables(saved), clock, random);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    log.warn('saved addresses ignored: unreadable', { error: error.message });
    return AddrManager.create(clock, random);
  }
}

export function saveAddresses(store: PeerStore, addresses: AddrManager, clock: Clock): void {
  store.saveAddresses(encodeAddrTables(addresses.tables), unixSeconds(clock));
}
