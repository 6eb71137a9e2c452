import { writeCompactSize } from '../primitives/compact-size.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { ByteReader, ByteWriter, equalBytes } from '../util/bytes.ts';

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

/** Bytes of the header of the file. */
export const SNAPSHOT_HEADER_SIZE = 51;

/** Thrown on a file that is not a UTXO set of this network; the message is Core's. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

/**
 * Decodes the header of the file. `networks`: the message starts of known networks, by their names; `own`: that of this
 * node. Throws SnapshotError.
 */
export function decodeSnapshotMetadata(
  bytes: Uint8Array,
  own: number,
  networks: ReadonlyMap<number, string>,
): SnapshotMetadata {
  const r = new ByteReader(bytes);
  if (r.remaining < SNAPSHOT_MAGIC.length) throw endOfFile();
  if (!equalBytes(r.bytes(SNAPSHOT_MAGIC.length), SNAPSHOT_MAGIC))
    throw new SnapshotError(
      'Invalid UTXO set snapshot magic bytes. Please check if this is indeed a snapshot file or if you are using an outdated snapshot format.',
    );
  if (r.remaining < 2) throw endOfFile();
  const version = r.u16();
  if (version !== SNAPSHOT_VERSION)
    throw new SnapshotError(`Version of snapshot ${version} does not match any of the supported versions.`);
  if (r.remaining < 4) throw endOfFile();
  const magic = r.u32();
  if (magic !== own) throw wrongNetwork(networks.get(magic), networks.get(own));
  if (r.remaining < 40) throw endOfFile();
  const baseHash = r.bytes(32).slice() as BlockHash;
  return { magic, baseHash, coins: Number(r.u64()) };
}

function wrongNetwork(found: string | undefined, own: string | undefined): SnapshotError {
  return new SnapshotError(
    found === undefined
      ? 'This snapshot has been created for an unrecognized network. This could be a custom signet, a new testnet or possibly caused by data corruption.'
      : `The network of the snapshot (${found}) does not match the network of this node (${own}).`,
  );
}

function endOfFile(): SnapshotError {
  return new SnapshotError('AutoFile::read: end of file');
}
