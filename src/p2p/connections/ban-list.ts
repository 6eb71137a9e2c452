import type { BanStore, SavedBan } from '../../storage/ban-store.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import { type RandomTweak, RollingBloomFilter } from '../../util/rolling-bloom-filter.ts';
import { addressBytes, type NetAddress } from '../address/net-address.ts';
import { isValid } from '../address/ranges.ts';
import { parseSubnet, printSubnet, type Subnet, subnetKey } from './subnet.ts';

/** Bans are made by operators, so more than this indicates a faulty script. */
const MAX_BANS = 100_000;

/** A banned subnet. Times in Unix seconds. */
export interface Ban {
  readonly subnet: Subnet;
  readonly createdAt: number;
  readonly until: number;
}

/** Addresses and subnets that an operator has banned, persisted across restarts. */
export class BanList {
  readonly #store: BanStore;
  readonly #clock: Clock;
  readonly #defaultSeconds: number;
  readonly #bans = new Map<string, Ban>();
  /** Number of bans by prefix length; a lookup checks each length once. */
  readonly #prefixes = new Map<number, number>();

  constructor(store: BanStore, clock: Clock, defaultSeconds: number) {
    this.#store = store;
    this.#clock = clock;
    this.#defaultSeconds = defaultSeconds;
    for (const saved of store.all()) {
      const subnet = parseSubnet(saved.subnet);
      if (subnet !== null && this.#bans.size < MAX_BANS) this.#insert({ ...saved, subnet });
    }
    this.sweep();
  }

  get size(): number {
    return this.#bans.size;
  }

  /**
   * Bans a subnet for some seconds (by default the configured time) or until a time. Returns whether that changed
   * anything: bans are never shortened, and none is added to a full list.
   */
  ban(subnet: Subnet, { seconds, until }: { readonly seconds?: number; readonly until?: number } = {}): boolean {
    const now = unixSeconds(this.#clock);
    const wanted = until !== undefined && until > 0 ? until : now + (seconds || this.#defaultSeconds);
    const key = keyOf(subnet);
    const old = this.#bans.get(key);
    if (old === undefined && this.#bans.size >= MAX_BANS) return false;
    if (wanted <= (old?.until ?? 0)) return false;
    const ban = { subnet, createdAt: now, until: wanted };
    this.#insert(ban);
    this.#store.put(savedOf(ban));
    return true;
  }

  /** Lifts the ban of exactly this subnet. Returns whether there was one. */
  unban(subnet: Subnet): boolean {
    const ban = this.#bans.get(keyOf(subnet));
    if (ban === undefined) return false;
    this.#drop([ban]);
    return true;
  }

  clear(): void {
    this.#drop([...this.#bans.values()]);
  }

  /** Returns whether the address is in any banned subnet. */
  isBanned(address: NetAddress): boolean {
    if (this.#bans.size === 0 || !isValid(address)) return false;
    const now = unixSeconds(this.#clock);
    for (const prefix of this.#prefixes.keys()) {
      if (prefix > address.bytes.length * 8) continue;
      if (now < (this.#bans.get(subnetKey(address, prefix))?.until ?? 0)) return true;
    }
    return false;
  }

  /** Returns whether exactly this subnet is banned. */
  isSubnetBanned(subnet: Subnet): boolean {
    return unixSeconds(this.#clock) < (this.#bans.get(keyOf(subnet))?.until ?? 0);
  }

  /** Returns the current bans. */
  list(): Ban[] {
    this.sweep();
    return [...this.#bans.values()];
  }

  /** Removes expired bans. */
  sweep(): void {
    const now = unixSeconds(this.#clock);
    const over = [...this.#bans.values()].filter(({ until }) => now > until);
    if (over.length > 0) this.#drop(over);
  }

  #insert(ban: Ban): void {
    const key = keyOf(ban.subnet);
    const { prefix } = ban.subnet;
    if (!this.#bans.has(key)) this.#prefixes.set(prefix, (this.#prefixes.get(prefix) ?? 0) + 1);
    this.#bans.set(key, ban);
  }

  #drop(bans: readonly Ban[]): void {
    for (const { subnet } of bans) {
      this.#bans.delete(keyOf(subnet));
      const left = this.#prefixes.get(subnet.prefix)! - 1;
      if (left > 0) this.#prefixes.set(subnet.prefix, left);
      else this.#prefixes.delete(subnet.prefix);
    }
    this.#store.remove(bans.map(({ subnet }) => printSubnet(subnet)));
  }
}

function keyOf({ address, prefix }: Subnet): string {
  return subnetKey(address, prefix);
}

function savedOf({ subnet, createdAt, until }: Ban): SavedBan {
  return { subnet: printSubnet(subnet), createdAt, until };
}

const REMEMBERED = 50_000;
const FALSE_POSITIVE_RATE = 1e-6;

/**
 * Addresses of misbehaving peers (Core's discouragement): not connected to, and evicted first when inbound slots are
 * full. Keeps the last 50,000 in memory; a false positive has a probability of one in a million.
 */
export class Discouragement {
  readonly #filter: RollingBloomFilter;

  constructor(random?: RandomTweak) {
    this.#filter = new RollingBloomFilter(REMEMBERED, FALSE_POSITIVE_RATE, random);
  }

  discourage(address: NetAddress): void {
    this.#filter.insert(addressBytes(address));
  }

  isDiscouraged(address: NetAddress): boolean {
    return this.#filter.contains(addressBytes(address));
  }
}
