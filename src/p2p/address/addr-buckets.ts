import { hash256 } from '../../crypto/hash-functions.ts';
import { writeCompactSize } from '../../primitives/compact-size.ts';
import { ByteWriter } from '../../util/bytes.ts';
import { addressBytes, type NetAddress, type NetService } from './net-address.ts';
import type { NetGroups } from './net-groups.ts';

export const NEW_BUCKETS = 1024;
export const TRIED_BUCKETS = 256;
export const BUCKET_SIZE = 64;
/**
 * Number of buckets for addresses received from one source group, and for tried addresses of one group (Core's
 * ADDRMAN_*_BUCKETS_PER_*).
 */
const NEW_BUCKETS_PER_SOURCE_GROUP = 64n;
const TRIED_BUCKETS_PER_GROUP = 8n;

export type AddrTable = 'new' | 'tried';

type Part =
  | { readonly bytes: Uint8Array }
  | { readonly u64: bigint }
  | { readonly i32: number }
  | { readonly u8: number };

/** Core's GetCheapHash: the first 64 bits of a double SHA-256 over the key and the serialised parts. */
function cheapHash(key: Uint8Array, ...parts: Part[]): bigint {
  const w = new ByteWriter(128);
  w.bytes(key);
  for (const part of parts) {
    if ('bytes' in part) {
      writeCompactSize(w, part.bytes.length);
      w.bytes(part.bytes);
    } else if ('u64' in part) w.u64(part.u64);
    else if ('i32' in part) w.u32(part.i32);
    else w.u8(part.u8);
  }
  const hash = hash256(w.finish());
  return new DataView(hash.buffer).getBigUint64(0, true);
}

/** Returns the bytes that represent address and port in hashes. */
function serviceBytes({ address, port }: NetService): Uint8Array {
  return Uint8Array.of(...addressBytes(address), port >> 8, port & 0xff);
}

/** Returns the bucket in the tried table. The addresses of one group share 8 buckets. */
export function triedBucket(key: Uint8Array, service: NetService, groups: NetGroups): number {
  const choice = cheapHash(key, { bytes: serviceBytes(service) }) % TRIED_BUCKETS_PER_GROUP;
  return Number(cheapHash(key, { bytes: groups.groupOf(service.address) }, { u64: choice }) % BigInt(TRIED_BUCKETS));
}

/** Returns the bucket in the new table. The addresses received from one source group share 64 buckets. */
export function newBucket(key: Uint8Array, { address }: NetService, source: NetAddress, groups: NetGroups): number {
  const sourceGroup = groups.groupOf(source);
  const choice =
    cheapHash(key, { bytes: groups.groupOf(address) }, { bytes: sourceGroup }) % NEW_BUCKETS_PER_SOURCE_GROUP;
  return Number(cheapHash(key, { bytes: sourceGroup }, { u64: choice }) % BigInt(NEW_BUCKETS));
}

/** Returns the only position that an address can have in a bucket. */
export function bucketPosition(key: Uint8Array, table: AddrTable, bucket: number, service: NetService): number {
  const letter = (table === 'new' ? 'N' : 'K').charCodeAt(0);
  const hash = cheapHash(key, { u8: letter }, { i32: bucket }, { bytes: serviceBytes(service) });
  return Number(hash % BigInt(BUCKET_SIZE));
}
