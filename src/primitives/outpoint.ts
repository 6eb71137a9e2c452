import { type ByteReader, type ByteWriter, bytesToHex } from '../util/bytes.ts';
import { isNullHash, type Txid } from './hash.ts';

/** Refers to an output of a transaction. */
export interface Outpoint {
  readonly txid: Txid;
  readonly vout: number;
}

/** The index in the prevout of a coinbase, next to the null hash. */
export const NULL_VOUT = 0xffff_ffff;

export function isNullOutpoint({ txid, vout }: Outpoint): boolean {
  return vout === NULL_VOUT && isNullHash(txid);
}

/** Returns a key for `Map` and `Set`: the txid in wire order and the index. */
export function outpointKey({ txid, vout }: Outpoint): string {
  return `${bytesToHex(txid)}:${vout}`;
}

export function decodeOutpoint(r: ByteReader): Outpoint {
  const txid = r.bytes(32) as Txid;
  return { txid, vout: r.u32() };
}

export function encodeOutpoint(w: ByteWriter, { txid, vout }: Outpoint): void {
  w.bytes(txid);
  w.u32(vout);
}
