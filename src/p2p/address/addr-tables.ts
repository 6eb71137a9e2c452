import { assert } from '../../util/assert.ts';
import {
  type AddrTable,
  BUCKET_SIZE,
  bucketPosition,
  NEW_BUCKETS,
  newBucket,
  TRIED_BUCKETS,
  triedBucket,
} from './addr-buckets.ts';
import { type AddrEntry, newEntry } from './addr-entry.ts';
import { BucketSet } from './bucket-set.ts';
import { type NetAddress, type NetService, type PeerAddress, serviceKey } from './net-address.ts';
import { type NetworkClass, networkOf } from './net-group.ts';
import type { NetGroups } from './net-groups.ts';

const EMPTY = -1;

/** Index of a position in a table: bucket × BUCKET_SIZE + position. */
export type Slot = number;

/**
 * The entries of the address manager in its two tables. The new table holds addresses that were announced, at up to 8
 * positions each. The tried table holds addresses that were reached, at one position each. An entry without a position
 * is removed.
 */
export class AddrTables {
  readonly key: Uint8Array;
  readonly groups: NetGroups;
  /** Ids are never reused. */
  #nextId = 0;
  readonly #entries = new Map<number, AddrEntry>();
  readonly #ids = new Map<string, number>();
  /** Ids of all entries; the prefix that was selected so far is shuffled. */
  readonly #random: number[] = [];
  readonly #new = new Float64Array(NEW_BUCKETS * BUCKET_SIZE).fill(EMPTY);
  readonly #tried = new Float64Array(TRIED_BUCKETS * BUCKET_SIZE).fill(EMPTY);
  readonly #counts = { new: 0, tried: 0 };
  /** Non-empty buckets, for all networks and for each. */
  readonly #filled = filledBuckets();
  readonly #filledOf = new Map<NetworkClass, ReturnType<typeof filledBuckets>>();
  readonly #networkCounts = new Map<NetworkClass, { new: number; tried: number }>();

  constructor(key: Uint8Array, groups: NetGroups) {
    this.key = key;
    this.groups = groups;
  }

  size(table?: AddrTable, network?: NetworkClass): number {
    const counts = network === undefined ? this.#counts : this.#networkCounts.get(network);
    if (counts === undefined) return 0;
    return table === undefined ? counts.new + counts.tried : counts[table];
  }

  idOf(service: NetService): number | null {
    return this.#ids.get(serviceKey(service)) ?? null;
  }

  entry(id: number): AddrEntry | null {
    return this.#entries.get(id) ?? null;
  }

  /** Throws if there is no such entry. */
  mustEntry(id: number): AddrEntry {
    const entry = this.#entries.get(id);
    assert(entry !== undefined, 'address entry');
    return entry;
  }

  entries(): IterableIterator<[number, AddrEntry]> {
    return this.#entries.entries();
  }

  /** Returns the buckets that have an entry, of the given network if any. */
  filledBuckets(table: AddrTable, network?: NetworkClass): readonly number[] {
    const filled = network === undefined ? this.#filled : this.#filledOf.get(network);
    return filled?.[table].filled ?? [];
  }

  /** Returns the id at a position, or null if it is empty. */
  at(table: AddrTable, slot: Slot): number | null {
    const id = (table === 'new' ? this.#new : this.#tried)[slot]!;
    return id === EMPTY ? null : id;
  }

  newSlot(entry: AddrEntry, source: NetAddress = entry.source): Slot {
    return this.newSlotIn(newBucket(this.key, entry, source, this.groups), entry);
  }

  newSlotIn(bucket: number, entry: AddrEntry): Slot {
    return bucket * BUCKET_SIZE + bucketPosition(this.key, 'new', bucket, entry);
  }

  triedSlot(entry: AddrEntry): Slot {
    const bucket = triedBucket(this.key, entry, this.groups);
    return bucket * BUCKET_SIZE + bucketPosition(this.key, 'tried', bucket, entry);
  }

  /** Creates an entry and counts it as new. The caller must place or remove it before any other change. */
  create(peer: PeerAddress, source: NetAddress): number {
    const id = this.#nextId++;
    const entry = newEntry(peer, source);
    this.#adopt(id, entry);
    this.#count(entry, 'new', 1);
    return id;
  }

  /** Removes an entry that has no position. */
  remove(id: number): void {
    const entry = this.mustEntry(id);
    assert(!entry.inTried && entry.refCount === 0, 'only entries without a place are removed');
    this.swapRandom(entry.randomPosition, this.#random.length - 1);
    this.#random.pop();
    this.#count(entry, 'new', -1);
    this.#ids.delete(serviceKey(entry));
    this.#entries.delete(id);
  }

  /** Places an entry at an empty position of the new table. */
  placeNew(id: number, slot: Slot): void {
    assert(this.#new[slot] === EMPTY, 'empty slot');
    const entry = this.mustEntry(id);
    this.#new[slot] = id;
    entry.refCount++;
    this.#fill(entry, 'new', slot);
  }

  /** Clears a position of the new table and removes an entry that has no other position. */
  clearNew(slot: Slot): void {
    const id = this.#new[slot]!;
    if (id === EMPTY) return;
    const entry = this.mustEntry(id);
    this.#new[slot] = EMPTY;
    this.#empty(entry, 'new', slot);
    if (--entry.refCount === 0) this.remove(id);
  }

  /**
   * Moves an entry from the new table to the tried table. An entry that occupies its position moves back to the new
   * table.
   */
  makeTried(id: number): void {
    const entry = this.mustEntry(id);
    const start = newBucket(this.key, entry, entry.source, this.groups);
    for (let i = 0; i < NEW_BUCKETS && entry.refCount > 0; i++) {
      const slot = this.newSlotIn((start + i) % NEW_BUCKETS, entry);
      if (this.#new[slot] !== id) continue;
      this.#new[slot] = EMPTY;
      this.#empty(entry, 'new', slot);
      entry.refCount--;
    }
    assert(entry.refCount === 0, 'entry found in all its buckets');
    this.#count(entry, 'new', -1);
    const slot = this.triedSlot(entry);
    const evicted = this.#tried[slot]!;
    if (evicted !== EMPTY) this.#backToNew(evicted, slot);
    this.placeTried(id, slot);
  }

  /** Places an entry that is not counted yet at an empty position of the tried table. */
  placeTried(id: number, slot: Slot): void {
    assert(this.#tried[slot] === EMPTY, 'empty slot');
    const entry = this.mustEntry(id);
    this.#tried[slot] = id;
    this.#fill(entry, 'tried', slot);
    entry.inTried = true;
    this.#count(entry, 'tried', 1);
  }

  /** Creates an entry that was read from a file for the tried table; returns null if the address is known. */
  createTried(peer: PeerAddress, source: NetAddress): number | null {
    if (this.idOf(peer) !== null) return null;
    const id = this.#nextId++;
    this.#adopt(id, newEntry(peer, source));
    return id;
  }

  /** Returns the id at an index of the random list. */
  randomAt(position: number): number {
    return this.#random[position]!;
  }

  swapRandom(a: number, b: number): void {
    const first = this.#random[a]!;
    const second = this.#random[b]!;
    this.#random[a] = second;
    this.#random[b] = first;
    this.mustEntry(first).randomPosition = b;
    this.mustEntry(second).randomPosition = a;
  }

  /** Checks the consistency of the tables after loading and in tests. Returns the first inconsistency, or null. */
  problem(): string | null {
    const places = new Map<number, number>();
    for (const table of ['new', 'tried'] as const)
      for (let slot = 0; slot < (table === 'new' ? this.#new : this.#tried).length; slot++) {
        const id = this.at(table, slot);
        if (id === null) continue;
        const entry = this.#entries.get(id);
        if (entry === undefined) return 'a position refers to no entry';
        if (entry.inTried !== (table === 'tried')) return 'an entry is in the wrong table';
        const expected =
          table === 'tried' ? this.triedSlot(entry) : this.newSlotIn(Math.floor(slot / BUCKET_SIZE), entry);
        if (expected !== slot) return 'an entry is at the wrong position';
        places.set(id, (places.get(id) ?? 0) + 1);
      }
    const counts = { new: 0, tried: 0 };
    for (const [id, entry] of this.#entries) {
      if (places.get(id) !== (entry.inTried ? 1 : entry.refCount)) return 'the position count of an entry is wrong';
      if (entry.inTried && (entry.refCount !== 0 || entry.lastSuccess === 0)) return 'a tried entry was never reached';
      if (entry.refCount > 8) return 'an entry has too many positions';
      if (this.#ids.get(serviceKey(entry)) !== id) return 'an entry is not found by its address';
      if (this.#random[entry.randomPosition] !== id) return 'an entry is not in the random list';
      if (entry.lastSuccess < 0 || entry.lastTry < 0) return 'an entry has a time before 1970';
      counts[entry.inTried ? 'tried' : 'new']++;
    }
    const listed = this.#random.length === this.#entries.size && this.#ids.size === this.#entries.size;
    const counted = counts.new === this.#counts.new && counts.tried === this.#counts.tried;
    return listed && counted ? null : 'the counts are wrong';
  }

  #adopt(id: number, entry: AddrEntry): void {
    entry.randomPosition = this.#random.length;
    this.#entries.set(id, entry);
    this.#ids.set(serviceKey(entry), id);
    this.#random.push(id);
  }

  #backToNew(id: number, slot: Slot): void {
    const entry = this.mustEntry(id);
    this.#tried[slot] = EMPTY;
    this.#empty(entry, 'tried', slot);
    entry.inTried = false;
    this.#count(entry, 'tried', -1);
    const place = this.newSlot(entry);
    this.clearNew(place);
    this.#count(entry, 'new', 1);
    this.placeNew(id, place);
  }

  #fill({ address }: AddrEntry, table: AddrTable, slot: Slot): void {
    const bucket = Math.floor(slot / BUCKET_SIZE);
    const network = networkOf(address);
    const filled = this.#filledOf.get(network) ?? filledBuckets();
    this.#filledOf.set(network, filled);
    filled[table].add(bucket);
    this.#filled[table].add(bucket);
  }

  #empty({ address }: AddrEntry, table: AddrTable, slot: Slot): void {
    const bucket = Math.floor(slot / BUCKET_SIZE);
    this.#filledOf.get(networkOf(address))![table].remove(bucket);
    this.#filled[table].remove(bucket);
  }

  #count(entry: AddrEntry, table: AddrTable, by: 1 | -1): void {
    const network = networkOf(entry.address);
    const counts = this.#networkCounts.get(network) ?? { new: 0, tried: 0 };
    counts[table] += by;
    this.#networkCounts.set(network, counts);
    this.#counts[table] += by;
  }
}

function filledBuckets() {
  return { new: new BucketSet(NEW_BUCKETS), tried: new BucketSet(TRIED_BUCKETS) };
}
