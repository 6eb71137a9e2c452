import type { NetAddress, PeerAddress } from './net-address.ts';

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
/** Maximum age of an address, seconds. */
const HORIZON = 30 * DAY;
/**
 * Failed attempts without any success, and failed attempts in MIN_FAIL seconds since the last success, after which an
 * address is terrible.
 */
const RETRIES = 3;
const MAX_FAILURES = 10;
const MIN_FAIL = 7 * DAY;

/** An address with its history (Core's AddrInfo). Times are Unix seconds, 0 for never. */
export interface AddrEntry extends PeerAddress {
  time: number;
  services: bigint;
  /** The peer that first announced the address. */
  readonly source: NetAddress;
  lastTry: number;
  lastCountedTry: number;
  lastSuccess: number;
  /** Failed attempts since the last success. */
  attempts: number;
  /** Number of positions in the new table. */
  refCount: number;
  inTried: boolean;
  /** Index in the list from which random entries are selected. */
  randomPosition: number;
}

export function newEntry(peer: PeerAddress, source: NetAddress): AddrEntry {
  const { address, port, time, services } = peer;
  const counters = { lastTry: 0, lastCountedTry: 0, lastSuccess: 0, attempts: 0 };
  return { address, port, time, services, source, ...counters, refCount: 0, inTried: false, randomPosition: -1 };
}

/** Returns the part of an entry that is sent to peers. */
export function peerAddressOf({ address, port, time, services }: AddrEntry): PeerAddress {
  return { address, port, time, services };
}

/** Core's IsTerrible: returns whether the entry may be replaced by any other. */
export function isTerrible(entry: AddrEntry, now: number): boolean {
  // An address tried in the last minute may be connecting now.
  if (now - entry.lastTry <= MINUTE) return false;
  if (entry.time > now + 10 * MINUTE) return true;
  if (now - entry.time > HORIZON) return true;
  if (entry.lastSuccess === 0 && entry.attempts >= RETRIES) return true;
  return now - entry.lastSuccess > MIN_FAIL && entry.attempts >= MAX_FAILURES;
}

/** Core's GetChance: returns the relative probability, at most 1, that a selected entry is used. */
export function selectionChance(entry: AddrEntry, now: number): number {
  const recent = now - entry.lastTry < 10 * MINUTE ? 0.01 : 1;
  // At least 1/28, so that selection still ends soon after an outage of our own network.
  return recent * 0.66 ** Math.min(entry.attempts, 8);
}
