import type { PeerStore } from '../../storage/peer-store.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../util/bytes.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import type { RandomBelow } from '../../util/random.ts';
import { decodeAddrTables, encodeAddrTables } from '../address/addr-file.ts';
import { AddrManager } from '../address/addr-manager.ts';
import type { PeerAddress } from '../address/net-address.ts';
import { readV2Address, writeV2Address } from '../messages/addresses.ts';

/** Only two, so that an eclipse attacker keeps at most two of our connections across a restart. */
const MAX_ANCHORS = 2;

/**
 * Reads and deletes the anchors: block-relay-only peers of the last run, which are connected to first, so that a
 * restart does not help an eclipse attacker.
 */
export function loadAnchors(store: PeerStore): PeerAddress[] {
  const peers: PeerAddress[] = [];
  for (const bytes of store.popAnchors()) {
    try {
      peers.push(readV2Address(new ByteReader(bytes)));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return peers.slice(0, MAX_ANCHORS);
}

export function saveAnchors(store: PeerStore, peers: readonly PeerAddress[]): void {
  store.saveAnchors(
    peers.slice(0, MAX_ANCHORS).map((peer) => {
      const w = new ByteWriter();
      writeV2Address(w, peer);
      return w.finish();
    }),
  );
}

/** Returns the saved address manager; an empty one if nothing is saved or it cannot be decoded. */
export function loadAddresses(store: PeerStore, clock: Clock, random: RandomBelow, log: Log): AddrManager {
  const saved = store.addresses();
  if (saved === null) {
    log.info('addresses of peers loaded', { count: 0 });
    return AddrManager.create(clock, random);
  }
  try {
    const addresses = new AddrManager(decodeAddrTables(saved), clock, random);
    log.info('addresses of peers loaded', { count: addresses.size() });
    return addresses;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    log.warn('saved addresses ignored: unreadable', { error: error.message });
    return AddrManager.create(clock, random);
  }
}

export function saveAddresses(store: PeerStore, addresses: AddrManager, clock: Clock): void {
  store.saveAddresses(encodeAddrTables(addresses.tables), unixSeconds(clock));
}
