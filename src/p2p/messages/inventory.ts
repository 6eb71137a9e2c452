import type { ByteReader, ByteWriter } from '../../util/bytes.ts';
import { emptyCodec, HASH_SIZE, type ListLimit, messageCodec, readHash, readList, writeList } from './codec.ts';

export const MAX_INVENTORY = 50_000;

/** What an inventory item names. The last five come in `getdata` only. */
export const INVENTORY = {
  tx: 1,
  block: 2,
  /** BIP-339: a transaction by its wtxid. */
  wtx: 5,
  /** BIP-37. */
  filteredBlock: 3,
  /** BIP-152. */
  compactBlock: 4,
  /** BIP-144. */
  witnessTx: 0x4000_0001,
  witnessBlock: 0x4000_0002,
} as const;

export interface InventoryItem {
  /** One of INVENTORY, or anything else. */
  readonly kind: number;
  readonly hash: Uint8Array;
}

export interface InventoryMessage {
  readonly items: readonly InventoryItem[];
}

export const inv = inventoryCodec('inv');
export const getdata = inventoryCodec('getdata');
/** Core sets no limit of its own for it. */
export const notfound = inventoryCodec('notfound', false);
/** BIP-35. */
export const mempool = emptyCodec('mempool');

function inventoryCodec(type: string, limited = true) {
  const limit: ListLimit | undefined = limited
    ? { max: MAX_INVENTORY, verdict: 'misbehaving', reason: (count) => `${type} message size = ${count}` }
    : undefined;
  return messageCodec<InventoryMessage>(
    type,
    (w, { items }) => writeList(w, items, writeItem, limit),
    (r) => ({ items: readList(r, 4 + HASH_SIZE, readItem, limit) }),
  );
}

function writeItem(w: ByteWriter, { kind, hash }: InventoryItem): void {
  w.u32(kind);
  w.bytes(hash);
}

function readItem(r: ByteReader): InventoryItem {
  const kind = r.u32();
  return { kind, hash: readHash(r) };
}
