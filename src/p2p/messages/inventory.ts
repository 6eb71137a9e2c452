import { ByteReader, type ByteWriter } from '../../util/bytes.ts';
import {
  decoding,
  emptyCodec,
  HASH_SIZE,
  type ListLimit,
  messageCodec,
  readCount,
  readHash,
  readList,
  writeList,
} from './codec.ts';

export const MAX_INVENTORY = 50_000;
const ITEM_SIZE = 4 + HASH_SIZE;

/** Inventory types. Types 3, 4 and those with the witness flag appear only in `getdata`. */
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

/** Returns whether an inventory type identifies a transaction, by txid or wtxid. */
export function isTransactionKind(kind: number): boolean {
  return kind === INVENTORY.tx || kind === INVENTORY.wtx || kind === INVENTORY.witnessTx;
}

const KIND_NAMES = new Map<number, string>([
  [INVENTORY.tx, 'tx'],
  [INVENTORY.wtx, 'wtx'],
  [INVENTORY.witnessTx, 'witness-tx'],
  [INVENTORY.block, 'block'],
  [INVENTORY.witnessBlock, 'witness-block'],
  [INVENTORY.filteredBlock, 'merkleblock'],
  [INVENTORY.compactBlock, 'cmpctblock'],
]);

/** Returns the name of an inventory type, as Core prints it. */
export function kindName(kind: number): string {
  return KIND_NAMES.get(kind) ?? `0x${kind.toString(16).padStart(8, '0')}`;
}

/** Returns whether an inventory type identifies a block, in any format. */
export function isBlockKind(kind: number): boolean {
  return (
    kind === INVENTORY.block ||
    kind === INVENTORY.witnessBlock ||
    kind === INVENTORY.compactBlock ||
    kind === INVENTORY.filteredBlock
  );
}

export interface InventoryItem {
  /** One of INVENTORY, or an unknown type. */
  readonly kind: number;
  readonly hash: Uint8Array;
}

interface InventoryMessage {
  readonly items: readonly InventoryItem[];
}

const LIMITS = { inv: limitOf('inv'), getdata: limitOf('getdata') };
export const inv = inventoryCodec('inv', LIMITS.inv);
export const getdata = inventoryCodec('getdata', LIMITS.getdata);
/** Core has no specific limit for `notfound`. */
export const notfound = inventoryCodec('notfound');
/** BIP-35. */
export const mempool = emptyCodec('mempool');

/**
 * Reads the items of an inventory message one at a time. Up to 50,000 of them are kept while the message waits to be
 * processed or the peer reads slowly, and as objects they would take several times the memory of the payload.
 */
export class InventoryItems implements Iterable<InventoryItem> {
  readonly #reader: ByteReader;
  readonly #end: number;
  /** The first item, or null. */
  readonly first: InventoryItem | null;

  /** Keeps a view of the payload. Throws MessageError like the codec of the message. */
  constructor(type: 'inv' | 'getdata' | 'notfound', payload: Uint8Array) {
    this.#reader = new ByteReader(payload);
    const limit = type === 'notfound' ? undefined : LIMITS[type];
    const count = decoding(type, () => readCount(this.#reader, ITEM_SIZE, limit));
    const start = this.#reader.pos;
    this.#end = start + count * ITEM_SIZE;
    this.first = count === 0 ? null : readItem(new ByteReader(payload.subarray(start, this.#end)));
  }

  /** Yields each item once; its hash is a view of the payload. */
  *[Symbol.iterator](): Generator<InventoryItem> {
    while (this.#reader.pos < this.#end) yield readItem(this.#reader);
  }
}

function limitOf(type: string): ListLimit {
  return { max: MAX_INVENTORY, verdict: 'misbehaving', reason: (count) => `${type} message size = ${count}` };
}

function inventoryCodec(type: string, limit?: ListLimit) {
  return messageCodec<InventoryMessage>(
    type,
    (w, { items }) => writeList(w, items, writeItem, limit),
    (r) => ({ items: readList(r, ITEM_SIZE, readItem, limit) }),
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
