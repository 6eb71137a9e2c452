import { hash256 } from '../../crypto/hash.ts';
import { writeCompactSize } from '../../primitives/compact-size.ts';
import { ByteWriter } from '../../util/bytes.ts';
import { addressBytes, type NetAddress, type NetService } from './net-address.ts';
import { netGroup } from './net-group.ts';

export const NEW_BUCKETS = 1024;
export const TRIED_BUCKETS = 256;
export const BUCKET_SIZE = 64;
/** Buckets that addresses told of by one group are spread over, and those that tried ones of a group are. */
const NEW_BUCKETS_PER_SOURCE_GROUP = 64n;
const TRIED_BUCKETS_PER_GROUP = 8n;

export type AddrTable = 'new' | 'tried';

type Part =
  | { readonly bytes: Uint8Array }
  | { readonly u64: bigint }
  | { readonly i32: number }
  | { readonly u8: number };

/** The first 64 bits of a double SHA-256 over the key and the parts, as Core serialises them. */
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

/** The bytes that stand for address and port. */
function serviceBytes({ address, port }: NetService): Uint8Array {
  return Uint8Array.of(...addressBytes(address), port >> 8, port & 0xff);
}

/** The bucket among the tried: a group of addresses has eight it can get into. */
export function triedBucket(key: Uint8Array, service: NetService): number {
  const choice = cheapHash(key, { bytes: serviceBytes(service) }) % TRIED_BUCKETS_PER_GROUP;
  return Number(cheapHash(key, { bytes: netGroup(service.address) }, { u64: choice }) % BigInt(TRIED_BUCKETS));
}

/** The bucket among the new: all that one group of sources tells of gets into 64. */
export function newBucket(key: Uint8Array, { address }: NetService, source: NetAddress): number {
  const sourceGroup = netGroup(source);
  const choice = cheapHash(key, { bytes: netGroup(address) }, { bytes: sourceGroup }) % NEW_BUCKETS_PER_SOURCE_GROUP;
  return Number(cheapHash(key, { bytes: sourceGroup }, { u64: choice }) % BigInt(NEW_BUCKETS));
}

/** The one place within a bucket that an address can take. */
export function bucketPosition(key: Uint8Array, table: AddrTable, bucket: number, service: NetService): number {
  const letter = (table === 'new' ? 'N' : 'K').charCodeAt(0);
  const hash = cheapHash(key, { u8: letter }, { i32: bucket }, { bytes: serviceBytes(service) });
  return Number(hash % BigInt(BUCKET_SIZE));
}
