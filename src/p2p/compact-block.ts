import { sha256 } from '../crypto/hash-functions.ts';
import { type SipHashKey, sipHashKeyOf, sipHashWords } from '../crypto/siphash.ts';
import type { ParsedBlock, ParsedTransaction } from '../primitives/block.ts';
import { writeCompactSize } from '../primitives/compact-size.ts';
import type { Wtxid } from '../primitives/hash.ts';
import { type BlockHeader, encodeHeader, headerBytes } from '../primitives/header.ts';
import { ByteWriter, equalBytes } from '../util/bytes.ts';
import type { CompactBlock } from './messages/compact-blocks.ts';

/** Maximum number of transactions in a block of 4,000,000 weight units, at 10 bytes each. */
const MAX_TRANSACTIONS = 4_000_000 / (4 * 10);
const MAX_INDEX = 0xffff;

/** The parts of a transaction that block reconstruction needs. */
export interface BlockTransaction {
  readonly wtxid: Wtxid;
  /** Bytes including the witness. */
  readonly raw: Uint8Array;
}

/**
 * `invalid`: the compact block violates the protocol. `failed`: reconstruction failed, by chance or by a crafted block,
 * and the full block must be requested.
 */
export type CompactBlockFault = { readonly status: 'invalid' | 'failed'; readonly reason: string };

/** Returns the SipHash key of the short ids, derived from the header and the nonce (BIP-152). */
export function shortIdKey(header: BlockHeader, nonce: bigint): SipHashKey {
  const w = new ByteWriter(88);
  w.bytes(headerBytes(header));
  w.u64(nonce);
  return sipHashKeyOf(sha256(w.finish()));
}

/** Scratch space of one call. */
const words = new Uint32Array(2);

/** Returns the short id of a transaction: 48 bits of the SipHash of its wtxid (BIP-152). */
export function shortId(key: SipHashKey, wtxid: Wtxid): number {
  sipHashWords(key, wtxid, words);
  return words[0]! + (words[1]! & 0xffff) * 0x1_0000_0000;
}

/** Returns the compact block of a block, with only the coinbase prefilled. */
export function compactBlockOf({ header, txs }: ParsedBlock, nonce: bigint): CompactBlock {
  const key = shortIdKey(header, nonce);
  const shortIds = txs.slice(1).map(({ wtxid }) => shortId(key, wtxid));
  return { header, nonce, shortIds, prefilled: [{ gap: 0, tx: txs[0]! }] };
}

/** A block that is reconstructed except for missing transactions (Core's PartiallyDownloadedBlock). */
export class PartialBlock {
  readonly header: BlockHeader;
  /** Number of transactions found among the candidates. */
  readonly found: number;
  readonly #slots: (BlockTransaction | null)[];

  constructor(header: BlockHeader, slots: (BlockTransaction | null)[], found: number) {
    this.header = header;
    this.found = found;
    this.#slots = slots;
  }

  /** Copies the found transactions, so that they do not depend on the candidates' memory. */
  copyTransactions(): void {
    for (const [index, slot] of this.#slots.entries())
      if (slot !== null) this.#slots[index] = { wtxid: slot.wtxid, raw: slot.raw.slice() };
  }

  /** Returns the positions of the missing transactions, ascending. */
  missing(): number[] {
    return this.#slots.flatMap((slot, index) => (slot === null ? [index] : []));
  }

  /**
   * Returns the bytes of the block, given the missing transactions in order. The caller must verify merkle root and
   * witness commitment; a mismatch may come from a short id collision (`failed`).
   */
  fillBlock(txs: readonly BlockTransaction[]): { readonly status: 'ok'; readonly raw: Uint8Array } | CompactBlockFault {
    const missing = this.missing().length;
    if (txs.length !== missing) return invalid(`${txs.length} transactions for ${missing} positions`);
    let next = 0;
    const w = new ByteWriter(1 << 20);
    encodeHeader(w, this.header);
    writeCompactSize(w, this.#slots.length);
    for (const slot of this.#slots) w.bytes((slot ?? txs[next++]!).raw);
    return { status: 'ok', raw: w.finish() };
  }
}

export type Reconstruction = { readonly status: 'ok'; readonly block: PartialBlock } | CompactBlockFault;

/**
 * Reconstructs a block from a compact block and known transactions. `candidates` are read once, in order. Two
 * candidates with the same short id leave their position empty. Reading stops when all positions are filled.
 */
export function reconstruct(compact: CompactBlock, candidates: Iterable<BlockTransaction>): Reconstruction {
  const { header, shortIds, prefilled } = compact;
  const count = shortIds.length + prefilled.length;
  if (header.bits === 0) return invalid('null header');
  if (count === 0) return invalid('no transactions');
  if (count > MAX_TRANSACTIONS) return invalid('more transactions than a block can hold');
  const slots = new Array<BlockTransaction | null>(count).fill(null);
  let at = -1;
  for (const [i, { gap, tx }] of prefilled.entries()) {
    if (isNull(tx)) return invalid('null transaction');
    at += gap + 1;
    if (at > MAX_INDEX) return invalid('index of a prefilled transaction exceeds 16 bits');
    // Otherwise a position before it would have neither a short id nor a transaction.
    if (at > shortIds.length + i) return invalid('index of a prefilled transaction is out of the block');
    slots[at] = tx;
  }
  const wanted = new ShortIdIndex(
    shortIds,
    slots.flatMap((slot, index) => (slot === null ? [index] : [])),
  );
  if (wanted.hasDuplicates) return { status: 'failed', reason: 'two equal short ids' };
  const found = findCandidates(slots, wanted, shortIdKey(header, compact.nonce), candidates);
  return { status: 'ok', block: new PartialBlock(header, slots, found) };
}

function findCandidates(
  slots: (BlockTransaction | null)[],
  wanted: ShortIdIndex,
  key: SipHashKey,
  candidates: Iterable<BlockTransaction>,
): number {
  const collided = new Set<number>();
  let found = 0;
  for (const candidate of candidates) {
    if (found === wanted.size) break;
    const index = wanted.indexOf(shortId(key, candidate.wtxid));
    if (index < 0 || collided.has(index)) continue;
    const present = slots[index] ?? null;
    if (present === null) {
      slots[index] = candidate;
      found++;
    } else if (!equalBytes(present.wtxid, candidate.wtxid)) {
      // Requesting it is cheaper than finding out after reconstruction that the wrong one was used.
      slots[index] = null;
      collided.add(index);
      found--;
    }
  }
  return found;
}

/**
 * Maps short ids to positions in the block. Binary search is used instead of a hash table, in which a sender could
 * choose colliding ids.
 */
class ShortIdIndex {
  readonly hasDuplicates: boolean;
  readonly #ids: Float64Array;
  readonly #places: Uint16Array;
  /** Bitmap of the low 16 bits of all ids, which excludes most candidates without a search. */
  readonly #lowBits = new Uint8Array(0x1_0000);

  constructor(ids: readonly number[], places: readonly number[]) {
    const order = Uint16Array.from(ids.keys()).sort((a, b) => ids[a]! - ids[b]!);
    this.#ids = Float64Array.from(order, (i) => ids[i]!);
    this.#places = Uint16Array.from(order, (i) => places[i]!);
    for (const id of ids) this.#lowBits[id % 0x1_0000] = 1;
    this.hasDuplicates = this.#ids.some((id, i) => id === this.#ids[i - 1]);
  }

  get size(): number {
    return this.#ids.length;
  }

  /** Returns the position of the transaction with this id, or -1. */
  indexOf(id: number): number {
    if (this.#lowBits[id % 0x1_0000] === 0) return -1;
    let low = 0;
    let high = this.#ids.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ids[middle]! < id) low = middle + 1;
      else high = middle;
    }
    return this.#ids[low] === id ? this.#places[low]! : -1;
  }
}

function isNull({ tx }: ParsedTransaction): boolean {
  return tx.inputs.length === 0 && tx.outputs.length === 0;
}

function invalid(reason: string): CompactBlockFault {
  return { status: 'invalid', reason };
}
