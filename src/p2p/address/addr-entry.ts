import type { NetAddress, PeerAddress } from './net-address.ts';

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;
/** Older than this, an address is of no use. */
const HORIZON = 30 * DAY;
/** Tries without a success ever, and tries in a row within `MIN_FAIL`, after which an address is given up. */
const RETRIES = 3;
const MAX_FAILURES = 10;
const MIN_FAIL = 7 * DAY;

/** What is known of an address. All times in Unix seconds, 0 for never. */
export interface AddrEntry extends PeerAddress {
  time: number;
  services: bigint;
  /** Who told of it first. */
  readonly source: NetAddress;
  lastTry: number;
  lastCountedTry: number;
  lastSuccess: number;
  /** Tries since the last success. */
  attempts: number;
  /** In how many buckets of the new table it is. */
  refCount: number;
  inTried: boolean;
  /** Its place in the list that random ones are drawn from. */
  randomPosition: number;
}

export function newEntry(peer: PeerAddress, source: NetAddress): AddrEntry {
  const { address, port, time, services } = peer;
  const counters = { lastTry: 0, lastCountedTry: 0, lastSuccess: 0, attempts: 0 };
  return { address, port, time, services, source, ...counters, refCount: 0, inTried: false, randomPosition: -1 };
}

/** What is told to others. */
export function peerAddressOf({ address, port, time, services }: AddrEntry): PeerAddress {
  return { address, port, time, services };
}

/** Whether an address may be thrown out for any other. */
export function isTerrible(entry: AddrEntry, now: number): boolean {
  // What was just tried may be connecting right now.
  if (now - entry.lastTry <= MINUTE) return false;
  if (entry.time > now + 10 * MINUTE) return true;
  if (now - entry.time > HORIZON) return true;
  if (entry.lastSuccess === 0 && entry.attempts >= RETRIES) return true;
  return now - entry.lastSuccess > MIN_FAIL && entry.attempts >= MAX_FAILURES;
}

/** How likely an address is to be chosen when its turn comes, from 1 down. */
export function selectionChance(entry: AddrEntry, now: number): number {
  const recent = now - entry.lastTry < 10 * MINUTE ? 0.01 : 1;
  // At most 1/28, so that after an outage of our own the search does not take forever.
  return recent * 0.66 ** Math.min(entry.attempts, 8);
}
