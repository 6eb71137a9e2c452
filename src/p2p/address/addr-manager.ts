import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { RandomBelow } from '../../util/random.ts';
import { type AddrTable, BUCKET_SIZE, NEW_BUCKETS, TRIED_BUCKETS } from './addr-buckets.ts';
import { type AddrEntry, isTerrible, peerAddressOf, selectionChance } from './addr-entry.ts';
import { AddrTables, type Slot } from './addr-tables.ts';
import { equalAddresses, type NetAddress, type NetService, type PeerAddress } from './net-address.ts';
import { type NetworkClass, networkClassOf, networkOf } from './net-group.ts';
import { PREFIX_GROUPS } from './net-groups.ts';
import { isRoutable, isValid } from './ranges.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MAX_PLACES = 8;
const MAX_COLLISIONS = 10;
/** A tried address that was reached this recently is not replaced, seconds. */
const REPLACEMENT = 4 * HOUR;
/** Time for testing the old address of a collision before it is replaced untested, seconds. */
const TEST_WINDOW = 40 * MINUTE;
const CONNECTED_INTERVAL = 20 * MINUTE;
const CHANCE_UNIT = 2 ** 30;

export interface Selected {
  readonly peer: PeerAddress;
  /** Unix seconds, 0 for never. */
  readonly lastTry: number;
}

export interface AddrPlace {
  readonly table: AddrTable;
  readonly bucket: number;
  readonly position: number;
  readonly entry: Readonly<AddrEntry>;
}

/**
 * Stochastic address manager (Core's AddrMan). An attacker who announces many addresses cannot fill the tables with
 * them: the few buckets of an address depend on a secret key, its group and the group of the peer that announced it.
 */
export class AddrManager {
  readonly #tables: AddrTables;
  readonly #clock: Clock;
  readonly #random: RandomBelow;
  readonly #check: () => void;
  /**
   * Unix seconds of the last successful connection. It starts at 1, later than "never", so that the first failures
   * count.
   */
  #lastGood = 1;
  /** New entries that wait until the tried entry at their position has been tested. */
  readonly #collisions = new Set<number>();

  /** `check` is called before each operation. */
  constructor(tables: AddrTables, clock: Clock, random: RandomBelow, check: (tables: AddrTables) => void = () => {}) {
    this.#tables = tables;
    this.#clock = clock;
    this.#random = random;
    this.#check = () => check(tables);
  }

  /** Returns an empty address manager. `key` is a secret of 32 bytes. */
  static create(clock: Clock, random: RandomBelow, key = newTableKey()): AddrManager {
    return new AddrManager(new AddrTables(key, PREFIX_GROUPS), clock, random);
  }

  /** The tables, for saving and inspection. */
  get tables(): AddrTables {
    return this.#tables;
  }

  size(table?: AddrTable, network?: NetworkClass): number {
    return this.#tables.size(table, network);
  }

  /**
   * Adds addresses announced by `source`, with their times reduced by `penalty` seconds. Returns whether any of them
   * was stored or moved.
   */
  add(peers: readonly PeerAddress[], source: NetAddress, penalty = 0): boolean {
    this.#check();
    let added = false;
    for (const peer of peers) if (this.#addOne(peer, source, penalty)) added = true;
    return added;
  }

  /**
   * Marks an address as reached (Core's Good). Returns whether it moved to the tried table. If its position there is
   * occupied, the occupant must be tested first (`selectTriedCollision`, `resolveCollisions`).
   */
  good(service: NetService, time = this.#now()): boolean {
    this.#check();
    return this.#good(service, time, true);
  }

  /**
   * Records a connection attempt (Core's Attempt). A failure counts only once until any connection succeeds, since our
   * own network may be down.
   */
  attempt(service: NetService, countFailure: boolean, time = this.#now()): void {
    this.#check();
    const entry = this.#find(service);
    if (entry === null) return;
    entry.lastTry = time;
    if (countFailure && entry.lastCountedTry < this.#lastGood) {
      entry.lastCountedTry = time;
      entry.attempts++;
    }
  }

  /**
   * Updates the time of a connected address (Core's Connected), at most every 20 minutes, so that the time reveals
   * little about our connections.
   */
  connected(service: NetService, time = this.#now()): void {
    this.#check();
    const entry = this.#find(service);
    if (entry !== null && time - entry.time > CONNECTED_INTERVAL) entry.time = time;
  }

  setServices(service: NetService, services: bigint): void {
    this.#check();
    const entry = this.#find(service);
    if (entry !== null) entry.services = services;
  }

  /**
   * Returns a random address to connect to, or null if there is none (Core's Select). Both tables are equally likely;
   * `networks` restricts the choice.
   */
  select({ newOnly = false, networks = [] as readonly NetworkClass[] } = {}): Selected | null {
    this.#check();
    const count = (table: AddrTable) =>
      networks.length === 0 ? this.size(table) : networks.reduce((sum, network) => sum + this.size(table, network), 0);
    const newCount = count('new');
    const triedCount = newOnly ? 0 : count('tried');
    if (newCount + triedCount === 0) return null;
    const table = triedCount === 0 || (newCount > 0 && this.#random(2) === 0) ? 'new' : 'tried';
    const now = this.#now();
    // Each rejected entry raises the probability of the next, so the loop terminates.
    for (let factor = 1; ; factor *= 1.2) {
      const entry = this.#randomEntry(table, networks);
      if (this.#random(CHANCE_UNIT) < factor * selectionChance(entry, now) * CHANCE_UNIT) return selected(entry);
    }
  }

  /**
   * Returns random addresses to send to a peer (Core's GetAddr): at most `max` and at most `percent` of all, each 0 for
   * no limit. Terrible entries are skipped unless `filtered` is false.
   */
  getAddresses(max: number, percent: number, network?: NetworkClass, filtered = true): PeerAddress[] {
    this.#check();
    const all = this.size();
    const share = percent === 0 ? all : Math.floor((Math.min(percent, 100) * all) / 100);
    const wanted = max === 0 ? share : Math.min(share, max);
    const now = this.#now();
    const peers: PeerAddress[] = [];
    for (let at = 0; at < all && peers.length < wanted; at++) {
      this.#tables.swapRandom(at, at + this.#random(all - at));
      const entry = this.#tables.mustEntry(this.#tables.randomAt(at));
      if (network !== undefined && networkClassOf(entry.address) !== network) continue;
      if (filtered && isTerrible(entry, now)) continue;
      peers.push(peerAddressOf(entry));
    }
    return peers;
  }

  /** Returns a tried address to be tested because a new one collides with it, or null if there is none. */
  selectTriedCollision(): Selected | null {
    this.#check();
    if (this.#collisions.size === 0) return null;
    const id = [...this.#collisions][this.#random(this.#collisions.size)]!;
    const entry = this.#tables.entry(id);
    if (entry === null) {
      this.#collisions.delete(id);
      return null;
    }
    const old = this.#tables.at('tried', this.#tables.triedSlot(entry));
    return old === null ? null : selected(this.#tables.mustEntry(old));
  }

  /** Resolves the collisions in the tried table whose outcome is known (Core's ResolveCollisions). */
  resolveCollisions(): void {
    this.#check();
    for (const id of [...this.#collisions]) if (this.#resolve(id)) this.#collisions.delete(id);
  }

  /** Yields the occupied positions of a table in order. An entry of the new table may have several. */
  *places(table: AddrTable): Generator<AddrPlace> {
    const slots = (table === 'new' ? NEW_BUCKETS : TRIED_BUCKETS) * BUCKET_SIZE;
    for (let slot = 0; slot < slots; slot++) {
      const id = this.#tables.at(table, slot);
      if (id === null) continue;
      const bucket = Math.floor(slot / BUCKET_SIZE);
      yield { table, bucket, position: slot % BUCKET_SIZE, entry: this.#tables.mustEntry(id) };
    }
  }

  #now(): number {
    return unixSeconds(this.#clock);
  }

  #find(service: NetService): AddrEntry | null {
    const id = this.#tables.idOf(service);
    return id === null ? null : this.#tables.entry(id);
  }

  #addOne(peer: PeerAddress, source: NetAddress, fullPenalty: number): boolean {
    if (!isRoutable(peer.address)) return false;
    // A node is the best source for the time of its own address, so there is no penalty.
    const penalty = equalAddresses(peer.address, source) ? 0 : fullPenalty;
    let id = this.#tables.idOf(peer);
    if (id !== null) {
      if (!this.#learn(this.#tables.mustEntry(id), peer, penalty)) return false;
    } else {
      id = this.#tables.create({ ...peer, time: Math.max(0, peer.time - penalty) }, source);
    }
    const entry = this.#tables.mustEntry(id);
    const slot = this.#tables.newSlot(entry, source);
    const present = this.#tables.at('new', slot);
    if (present === id) return false;
    if (present !== null && !this.#mayOverwrite(this.#tables.mustEntry(present), entry)) {
      if (entry.refCount === 0) this.#tables.remove(id);
      return false;
    }
    this.#place(id, slot);
    return true;
  }

  #place(id: number, slot: Slot): void {
    this.#tables.clearNew(slot);
    this.#tables.placeNew(id, slot);
  }

  #mayOverwrite(present: AddrEntry, entry: AddrEntry): boolean {
    return isTerrible(present, this.#now()) || (present.refCount > 1 && entry.refCount === 0);
  }

  /** Updates a known entry. Returns whether it may get one more position in the new table. */
  #learn(entry: AddrEntry, peer: PeerAddress, penalty: number): boolean {
    const online = this.#now() - peer.time < DAY;
    if (entry.time < peer.time - (online ? HOUR : DAY) - penalty) entry.time = Math.max(0, peer.time - penalty);
    entry.services |= peer.services;
    if (peer.time <= entry.time || entry.inTried || entry.refCount === MAX_PLACES) return false;
    // Each position of the entry halves the probability of another.
    return entry.refCount === 0 || this.#random(1 << entry.refCount) === 0;
  }

  #good(service: NetService, time: number, testBeforeEvict: boolean): boolean {
    this.#lastGood = time;
    const id = this.#tables.idOf(service);
    if (id === null) return false;
    const entry = this.#tables.mustEntry(id);
    entry.lastSuccess = time;
    entry.lastTry = time;
    entry.attempts = 0;
    // The entry's time is not updated: a change would reveal which peers we are connected to.
    if (entry.inTried) return false;
    if (testBeforeEvict && this.#tables.at('tried', this.#tables.triedSlot(entry)) !== null) {
      if (this.#collisions.size < MAX_COLLISIONS) this.#collisions.add(id);
      return false;
    }
    this.#tables.makeTried(id);
    return true;
  }

  #randomEntry(table: AddrTable, networks: readonly NetworkClass[]): AddrEntry {
    // Selects among the filled buckets directly. Core draws random buckets until one fits, which is equivalent but slow
    // for nearly empty tables.
    const buckets = this.#tables.filledBuckets(table, networks.length === 1 ? networks[0] : undefined);
    for (;;) {
      const bucket = buckets[this.#random(buckets.length)]!;
      const start = this.#random(BUCKET_SIZE);
      for (let i = 0; i < BUCKET_SIZE; i++) {
        const id = this.#tables.at(table, bucket * BUCKET_SIZE + ((start + i) % BUCKET_SIZE));
        if (id === null) continue;
        const entry = this.#tables.mustEntry(id);
        if (networks.length === 0 || networks.includes(networkOf(entry.address))) return entry;
      }
    }
  }

  /** Returns whether the collision is resolved. */
  #resolve(id: number): boolean {
    const entry = this.#tables.entry(id);
    if (entry === null || !isValid(entry.address)) return true;
    const oldId = this.#tables.at('tried', this.#tables.triedSlot(entry));
    if (oldId === null) return true;
    const old = this.#tables.mustEntry(oldId);
    const now = this.#now();
    if (now - old.lastSuccess < REPLACEMENT) return true;
    // The test failed if the old address was tried and had a minute to succeed; without a test in time the new address
    // wins.
    const failed = now - old.lastTry < REPLACEMENT;
    if (failed ? now - old.lastTry <= MINUTE : now - entry.lastSuccess <= TEST_WINDOW) return false;
    this.#good(entry, now, false);
    return true;
  }
}

/** Returns a new secret key of the tables. */
export function newTableKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

function selected(entry: AddrEntry): Selected {
  return { peer: peerAddressOf(entry), lastTry: entry.lastTry };
}
