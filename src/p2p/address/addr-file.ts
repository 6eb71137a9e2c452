import { ByteReader, ByteWriter, DecodeError, equalBytes } from '../../util/bytes.ts';
import { readV2Address, readV2NetAddress, writeV2Address, writeV2NetAddress } from '../messages/addresses.ts';
import { BUCKET_SIZE, NEW_BUCKETS, TRIED_BUCKETS } from './addr-buckets.ts';
import type { AddrEntry } from './addr-entry.ts';
import { AddrTables } from './addr-tables.ts';
import type { NetGroups } from './net-groups.ts';
import { isValid } from './ranges.ts';

const FORMAT = 4;
/** The oldest format with BIP-155 addresses. */
const OLDEST_FORMAT = 3;
const COMPATIBILITY_BASE = 32;
/** XORed with the bucket count, so that very old versions of Core reject the file. */
const BUCKETS_MARK = 1 << 30;
/** Serialisation version of an address: the low bits are ignored, bit 29 means BIP-155 format. */
const ADDRESS_VERSION = 220_000;
const ADDRESS_VERSION_MASK = 0x7_ffff;
const ADDRESS_V2 = 1 << 29;
const MAX_PLACES = 8;
const HASH_SIZE = 32;

/** Returns the contents of Core's peers.dat (format 4), without its magic and checksum. */
export function encodeAddrTables(tables: AddrTables): Uint8Array {
  const w = new ByteWriter(1 << 16);
  w.u8(FORMAT);
  w.u8(COMPATIBILITY_BASE + FORMAT);
  w.bytes(tables.key);
  w.u32(tables.size('new'));
  w.u32(tables.size('tried'));
  w.u32(NEW_BUCKETS ^ BUCKETS_MARK);
  const indexes = new Map<number, number>();
  for (const [id, entry] of tables.entries()) {
    if (entry.inTried) continue;
    indexes.set(id, indexes.size);
    writeEntry(w, entry);
  }
  for (const [, entry] of tables.entries()) if (entry.inTried) writeEntry(w, entry);
  for (let bucket = 0; bucket < NEW_BUCKETS; bucket++) {
    const ids = [];
    for (let position = 0; position < BUCKET_SIZE; position++) {
      const id = tables.at('new', bucket * BUCKET_SIZE + position);
      if (id !== null) ids.push(id);
    }
    w.u32(ids.length);
    for (const id of ids) w.u32(indexes.get(id)!);
  }
  w.bytes(tables.groups.version);
  return w.finish();
}

/**
 * Decodes tables written by `encodeAddrTables` or Core. Throws DecodeError if the bytes are corrupt or of a newer
 * format.
 */
export function decodeAddrTables(bytes: Uint8Array, groups: NetGroups): AddrTables {
  const r = new ByteReader(bytes);
  const format = r.u8();
  const compatible = r.u8() - COMPATIBILITY_BASE;
  if (compatible < 0) throw new DecodeError('corrupt address file');
  if (compatible > FORMAT || format < OLDEST_FORMAT) throw new DecodeError(`unsupported address file format ${format}`);
  const tables = new AddrTables(r.bytes(HASH_SIZE).slice(), groups);
  const newCount = readCount(r, NEW_BUCKETS * BUCKET_SIZE);
  const triedCount = readCount(r, TRIED_BUCKETS * BUCKET_SIZE);
  const buckets = r.i32() ^ BUCKETS_MARK;
  const ids: number[] = [];
  for (let i = 0; i < newCount; i++) ids.push(restoreNew(tables, readEntry(r)));
  for (let i = 0; i < triedCount; i++) restoreTried(tables, readEntry(r));
  restorePlaces(tables, r, ids, buckets);
  // Entries without a position in either table are dropped.
  for (const [id, entry] of [...tables.entries()]) if (!entry.inTried && entry.refCount === 0) tables.remove(id);
  const problem = tables.problem();
  if (problem !== null) throw new DecodeError(`corrupt address file: ${problem}`);
  return tables;
}

function readCount(r: ByteReader, max: number): number {
  const count = r.i32();
  if (count < 0 || count > max) throw new DecodeError(`corrupt address file: ${count} entries`);
  return count;
}

function writeEntry(w: ByteWriter, entry: AddrEntry): void {
  w.u32(ADDRESS_VERSION | ADDRESS_V2);
  writeV2Address(w, entry);
  writeV2NetAddress(w, entry.source);
  w.i64(BigInt(entry.lastSuccess));
  w.u32(entry.attempts);
}

type StoredEntry = Pick<AddrEntry, 'address' | 'port' | 'time' | 'services' | 'source' | 'lastSuccess' | 'attempts'>;

function readEntry(r: ByteReader): StoredEntry {
  if ((r.u32() & ~ADDRESS_VERSION_MASK) !== ADDRESS_V2) throw new DecodeError('unsupported address format');
  const peer = readV2Address(r);
  const source = readV2NetAddress(r);
  return { ...peer, source, lastSuccess: Number(r.i64()), attempts: r.i32() };
}

function restoreNew(tables: AddrTables, stored: StoredEntry): number {
  if (tables.idOf(stored) !== null) throw new DecodeError('corrupt address file: duplicate address');
  const id = tables.create(stored, stored.source);
  restoreCounters(tables, id, stored);
  return id;
}

function restoreTried(tables: AddrTables, stored: StoredEntry): void {
  const probe = { ...stored, lastTry: 0, lastCountedTry: 0, refCount: 0, inTried: false, randomPosition: -1 };
  const slot = tables.triedSlot(probe);
  if (!isValid(stored.address) || tables.at('tried', slot) !== null) return;
  const id = tables.createTried(stored, stored.source);
  if (id === null) throw new DecodeError('corrupt address file: duplicate address');
  tables.placeTried(id, slot);
  restoreCounters(tables, id, stored);
}

function restoreCounters(tables: AddrTables, id: number, { lastSuccess, attempts }: StoredEntry): void {
  const entry = tables.mustEntry(id);
  entry.lastSuccess = lastSuccess;
  entry.attempts = attempts;
}

/**
 * Restores the positions of new entries. They keep their buckets if the bucket count and the map of autonomous systems
 * are unchanged; otherwise their source determines the bucket.
 */
function restorePlaces(tables: AddrTables, r: ByteReader, ids: readonly number[], buckets: number): void {
  const places: [bucket: number, id: number][] = [];
  for (let bucket = 0; bucket < buckets; bucket++) {
    const count = r.i32();
    for (let i = 0; i < count; i++) {
      const id = ids[r.i32()];
      if (id !== undefined) places.push([bucket, id]);
    }
  }
  const sameBuckets = buckets === NEW_BUCKETS && equalBytes(r.bytes(HASH_SIZE), tables.groups.version);
  for (const [bucket, id] of places) {
    const entry = tables.mustEntry(id);
    if (!isValid(entry.address) || entry.refCount >= MAX_PLACES) continue;
    const old = sameBuckets ? tables.newSlotIn(bucket, entry) : null;
    const slot = old !== null && tables.at('new', old) === null ? old : tables.newSlot(entry);
    if (tables.at('new', slot) === null) tables.placeNew(id, slot);
  }
}
