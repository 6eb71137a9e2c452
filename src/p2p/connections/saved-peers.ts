import type { PeerStore } from '../../storage/peer-store.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../util/bytes.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import type { RandomBelow } from '../../util/random.ts';
import { decodeAddrTables, encodeAddrTables } from '../address/addr-file.ts';
import { AddrManager, newTableKey } from '../address/addr-manager.ts';
import { AddrTables } from '../address/addr-tables.ts';
import type { PeerAddress } from '../address/net-address.ts';
import type { NetGroups } from '../address/net-groups.ts';
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

export interface AddressLoading {
  readonly clock: Clock;
  readonly random: RandomBelow;
  readonly log: Log;
  /** Groups by which buckets are chosen. */
  readonly groups: NetGroups;
  /** The tables are checked in one of this many operations; 0 for never. Core's -checkaddrman. */
  readonly checkOneIn: number;
}

/** Returns the saved address manager; an empty one if nothing is saved or it cannot be decoded. */
export function loadAddresses(store: PeerStore, loading: AddressLoading): AddrManager {
  const { clock, random, log, groups, checkOneIn } = loading;
  const check = (tables: AddrTables) => {
    if (checkOneIn > 0 && random(checkOneIn) === 0) checkTables(tables, log);
  };
  const saved = store.addresses();
  const tables = (saved === null ? null : decodedTables(saved, loading)) ?? new AddrTables(newTableKey(), groups);
  log.info('addresses of peers loaded', { count: tables.size() });
  return new AddrManager(tables, clock, random, check);
}

function decodedTables(saved: Uint8Array, { groups, log }: AddressLoading): AddrTables | null {
  try {
    return decodeAddrTables(saved, groups);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    log.warn('saved addresses ignored: unreadable', { error: error.message });
    return null;
  }
}

function checkTables(tables: AddrTables, log: Log): void {
  const sizes = { new: tables.size('new'), tried: tables.size('tried'), total: tables.size() };
  log.debug('check of the addresses of peers started', sizes);
  const problem = tables.problem();
  if (problem === null) log.debug('check of the addresses of peers completed');
  else log.error('addresses of peers are inconsistent', { problem });
}

export function saveAddresses(store: PeerStore, addresses: AddrManager, clock: Clock): void {
  store.saveAddresses(encodeAddrTables(addresses.tables), unixSeconds(clock));
}
