import { writeCompactSize } from '../primitives/compact-size.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { ByteWriter } from '../util/bytes.ts';

/**
 * The file of a UTXO set as Core writes it (dumptxoutset) and reads it (loadtxoutset):
 *
 *     "utxo" 0xff | version u16 | message start u32 | block hash | number of coins u64
 *     for each transaction: txid | compact size of its coins | for each coin: compact size of its index, coin
 *
 * Transactions come in the order of their txids as bytes, the coins of one in the order of the VARINTs of their indexes.
 */
const SNAPSHOT_MAGIC = Uint8Array.of(0x75, 0x74, 0x78, 0x6f, 0xff);
const SNAPSHOT_VERSION = 2;

/** The header of the file. */
export interface SnapshotMetadata {
  /** Message start of the network, as a little-endian number. */
  readonly magic: number;
  /** The block at which the set was complete. */
  readonly baseHash: BlockHash;
  readonly coins: number;
}

export function encodeSnapshotMetadata({ magic, baseHash, coins }: SnapshotMetadata): Uint8Array {
  const w = new ByteWriter(64);
  w.bytes(SNAPSHOT_MAGIC);
  w.u16(SNAPSHOT_VERSION);
  w.u32(magic);
  w.bytes(baseHash);
  w.u64(BigInt(coins));
  return w.finish();
}

/** Writes what precedes the coins of a transaction. */
export function writeSnapshotTx(w: ByteWriter, txid: Uint8Array, coins: number): void {
  w.bytes(txid);
  writeCompactSize(w, coins);
}
