import type { BlockHash } from '../primitives/hash.ts';
import { hashFromHex } from '../primitives/hash.ts';

/** A UTXO set that may be loaded before the blocks behind it are validated (Core's AssumeutxoData). */
export interface AssumedUtxoSet {
  readonly height: number;
  readonly blockHash: BlockHash;
  /** The set's hash_serialized_3, wire order. */
  readonly hash: Uint8Array;
  /** Number of transactions up to this block, the genesis coinbase included. */
  readonly txs: number;
}

/** Returns a set by its block; both hashes are in display order. */
export function assumedUtxoSet(height: number, blockHash: string, hash: string, txs: number): AssumedUtxoSet {
  return { height, blockHash: hashFromHex<BlockHash>(blockHash), hash: hashFromHex<BlockHash>(hash), txs };
}
