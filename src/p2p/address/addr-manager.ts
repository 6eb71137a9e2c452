import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { RandomBelow } from '../random-source.ts';
import { type AddrTable, BUCKET_SIZE, NEW_BUCKETS, TRIED_BUCKETS } from './addr-buckets.ts';
import { type AddrEntry, isTerrible, peerAddressOf, selectionChance } from './addr-entry.ts';
import { AddrTables, type Slot } from './addr-tables.ts';
import { equalAddresses, type NetAddress, type NetService, type PeerAddress } from './net-address.ts';
import { type NetworkClass, networkClassOf, networkOf } from './net-group.ts';
import { isRoutable, isValid } from './ranges.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MAX_PLACES = 8;
const MAX_COLLISIONS = 10;
/** An address that was reached this recently is not evicted for another. */
const REPLACEMENT = 4 * HOUR;
/** How long the test of the old one may take before the new one wins without. */
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
 * Remembers addresses of nodes so that whoever fills it with his own cannot get hold of all our connections: which few
 * buckets an address can get into depends on a secret key, its group, and the group of who told of it.
 */
export class AddrManager {
  readonly #tables: AddrTables;
  readonly #clock: Clock;
  readonly #random: RandomBelow;
  /** When a connection last succeeded. Above "never", so that the first failures count. */
  #lastGood = 1;
  /** New entries that wait for the tried one in their place to be tested. */
  readonly #collisions = new Set<number>();

  constructor(tables: AddrTables, clock: Clock, random: RandomBelow) {
    this.#tables = tables;
    this.#clock = clock;
    this.#random = random;
  }

  /** An empty one. `key` are 32 secret bytes. */
  static create(clock: Clock, random: RandomBelow, key = crypto.getRandomValues(new Uint8Array(32))): AddrManager {
    return new AddrManager(new AddrTables(key), clock, random);
  }

  /** What it holds, to be saved or looked through. */
  get tables(): AddrTables {
    return this.#tables;
  }

  size(table?: AddrTable, network?: NetworkClass): number {
    return this.#tables.size(table, network);
  }

  /**
   * Takes addresses that `source` told of, seen `penalty` seconds longer ago than it says. Whether any of them got a
   * place.
   */
  add(peers: readonly PeerAddress[], source: NetAddress, penalty = 0): boolean {
    let added = false;
    for (const peer of peers) if (this.#addOne(peer, source, penalty)) added = true;
    return added;
  }

  /**
   * Notes that a connection succeeded; whether the address has moved to the tried table. If another stands in its place
   * there, that one is to be tested first (`selectTriedCollision`, `resolveCollisions`).
   */
  good(service: NetService, time = this.#now()): boolean {
    return this.#good(service, time, true);
  }

  /** Notes a try. A failure counts once until some connection succeeds, as our own network may be down. */
  attempt(service: NetService, countFailure: boolean, time = this.#now()): void {
    const entry = this.#find(service);
    if (entry === null) return;
    entry.lastTry = time;
    if (countFailure && entry.lastCountedTry < this.#lastGood) {
      entry.lastCountedTry = time;
      entry.attempts++;
    }
  }

  /** Notes that a node was there until now; at most every 20 minutes, so that others learn little from it. */
  connected(service: NetService, time = this.#now()): void {
    const entry = this.#find(service);
    if (entry !== null && time - entry.time > CONNECTED_INTERVAL) entry.time = time;
  }

  setServices(service: NetService, services: bigint): void {
    const entry = this.#find(service);
    if (entry !== null) entry.services = services;
  }

  /** One to connect to, or null; from both tables as likely, and of some networks only where given. */
  select({ newOnly = false, networks = [] as readonly NetworkClass[] } = {}): Selected | null {
    const count = (table: AddrTable) =>
      networks.length === 0 ? this.size(table) : networks.reduce((sum, network) => sum + this.size(table, network), 0);
    const newCount = count('new');
    const triedCount = newOnly ? 0 : count('tried');
    if (newCount + triedCount === 0) return null;
    const table = triedCount === 0 || (newCount > 0 && this.#random(2) === 0) ? 'new' : 'tried';
    const now = this.#now();
    // Each one passed over makes the next likelier, so that this ends.
    for (let factor = 1; ; factor *= 1.2) {
      const entry = this.#randomEntry(table, networks);
      if (this.#random(CHANCE_UNIT) < factor * selectionChance(entry, now) * CHANCE_UNIT) return selected(entry);
    }
  }

  /**
   * Random addresses to tell others: at most `max` and `percent` of all (0 for no such limit), none that is terrible
   * unless `filtered` is false.
   */
  getAddresses(max: number, percent: number, network?: NetworkClass, filtered = true): PeerAddress[] {
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

  /** A tried address that has to be tested because another wants its place; null where there is none. */
  selectTriedCollision(): Selected | null {
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

  /** Decides which of two that want one place among the tried gets it, where that is known by now. */
  resolveCollisions(): void {
    for (const id of [...this.#collisions]) if (this.#resolve(id)) this.#collisions.delete(id);
  }

  /** Every place that is taken, in order. An entry of the new table may have several. */
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
    // Nobody knows better when a node was there than the node.
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

  /** Takes over what is new about a known address; whether it may get one more place. */
  #learn(entry: AddrEntry, peer: PeerAddress, penalty: number): boolean {
    const online = this.#now() - peer.time < DAY;
    if (entry.time < peer.time - (online ? HOUR : DAY) - penalty) entry.time = Math.max(0, peer.time - penalty);
    entry.services |= peer.services;
    if (peer.time <= entry.time || entry.inTried || entry.refCount === MAX_PLACES) return false;
    // Each place makes the next half as likely.
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
    // Its time stays: to change it would tell others whom we are connected to.
    if (entry.inTried) return false;
    if (testBeforeEvict && this.#tables.at('tried', this.#tables.triedSlot(entry)) !== null) {
      if (this.#collisions.size < MAX_COLLISIONS) this.#collisions.add(id);
      return false;
    }
    this.#tables.makeTried(id);
    return true;
  }

  #randomEntry(table: AddrTable, networks: readonly NetworkClass[]): AddrEntry {
    // Drawing among all buckets until one fits would come to the same, but take long where few are filled.
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

  /** Whether the collision is settled. */
  #resolve(id: number): boolean {
    const entry = this.#tables.entry(id);
    if (entry === null || !isValid(entry.address)) return true;
    const oldId = this.#tables.at('tried', this.#tables.triedSlot(entry));
    if (oldId === null) return true;
    const old = this.#tables.mustEntry(oldId);
    const now = this.#now();
    if (now - old.lastSuccess < REPLACEMENT) return true;
    // Tried, and a minute was given to succeed; or never tried in time.
    const failed = now - old.lastTry < REPLACEMENT;
    if (failed ? now - old.lastTry <= MINUTE : now - entry.lastSuccess <= TEST_WINDOW) return false;
    this.#good(entry, now, false);
    return true;
  }
}

function selected(entry: AddrEntry): Selected {
  return { peer: peerAddressOf(entry), lastTry: entry.lastTry };
}
