import { bytesToHex, DecodeError, hexToBytes } from '../util/bytes.ts';

declare const kind: unique symbol;

/** 32 bytes in wire order. The brand distinguishes a txid from a block hash at compile time. */
export type Hash<K extends string> = Uint8Array & { readonly [kind]: K };
export type Txid = Hash<'txid'>;
export type Wtxid = Hash<'wtxid'>;
export type BlockHash = Hash<'block'>;
export type MerkleRoot = Hash<'merkle'>;
type AnyHash = Txid | Wtxid | BlockHash | MerkleRoot;

/** Formats a hash in display order, which reverses the bytes. */
export function hashToHex(hash: Uint8Array): string {
  return bytesToHex(hash.toReversed());
}

/** Parses 64 hex digits in display order. Throws DecodeError on anything else. */
export function hashFromHex<H extends AnyHash>(hex: string): H {
  if (hex.length !== 64) throw new DecodeError('a hash has 64 hex digits');
  return hexToBytes(hex).reverse() as H;
}

export function isNullHash(hash: Uint8Array): boolean {
  for (let i = 0; i < hash.length; i++) if (hash[i] !== 0) return false;
  return true;
}
