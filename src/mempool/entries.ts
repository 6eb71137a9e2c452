import { adjustedWeight } from '../policy/virtual-size.ts';
import { type ParsedTransaction, parseTransaction } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import type { Txid, Wtxid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { assert } from '../util/assert.ts';
import { ByteArena } from '../util/byte-arena.ts';
import { ByteReader } from '../util/bytes.ts';
import { grown, grownRows } from '../util/column.ts';
import { SlotIndex } from '../util/slot-index.ts';
import type { EntryFacts } from './changes.ts';

const HASH = 32;
const OUTPOINT = 36;
const INITIAL = 256;
/** Memory of an entry beyond its transaction, coins and inputs, bytes: columns, both indexes, the graph. */
const ENTRY_BYTES = 330;
/** Memory of an input: its outpoint, its owner, its link and its index entry, bytes. */
const INPUT_BYTES = OUTPOINT + 4 + 4 + 12;

/** A transaction to be added, with its properties. Amounts in satoshis. */
export interface NewEntry extends EntryFacts {
  readonly parsed: ParsedTransaction;
  /** Undo records of the spent outputs. */
  readonly spent: Uint8Array;
  /** Arrival number; by default after all others. */
  readonly order?: number;
  /** Whether a reorganization can make it premature: it spends a coinbase output or has a time lock. */
  readonly locked: boolean;
}

/**
 * The transactions of the mempool in typed arrays, one slot each. Hundreds of thousands of objects and maps would take
 * several times the memory and block the thread during garbage collection. The caller assigns the slots.
 */
export class Entries {
  #capacity = INITIAL;
  #txids = new Uint8Array(INITIAL * HASH);
  #wtxids = new Uint8Array(INITIAL * HASH);
  #fee = new Float64Array(INITIAL);
  /** Only prioritised transactions have one. */
  readonly #feeDelta = new Map<number, number>();
  #order = new Float64Array(INITIAL);
  #time = new Uint32Array(INITIAL);
  #weight = new Uint32Array(INITIAL);
  #vsize = new Uint32Array(INITIAL);
  #sigopCost = new Uint32Array(INITIAL);
  #height = new Uint32Array(INITIAL);
  #rawLength = new Uint32Array(INITIAL);
  #firstInput = new Int32Array(INITIAL);
  #locked = new Uint8Array(INITIAL);
  #spentLength = new Uint32Array(INITIAL);
  /** Offset of each transaction's bytes, followed by its undo records; NaN for a free slot. */
  #bytesAt = new Float64Array(INITIAL).fill(Number.NaN);
  readonly #bytes = new ByteArena();
  #slots = 0;
  readonly #byTxid = new SlotIndex(HASH, () => this.#txids);
  readonly #byWtxid = new SlotIndex(HASH, () => this.#wtxids);

  // Inputs have slots of their own, in a linked list per entry.
  #outpoints = new Uint8Array(INITIAL * OUTPOINT);
  #owner = new Int32Array(INITIAL);
  #nextInput = new Int32Array(INITIAL);
  readonly #freeInputs: number[] = [];
  #inputSlots = 0;
  readonly #byOutpoint = new SlotIndex(OUTPOINT, () => this.#outpoints);
  /** Index of the inputs by the txid they spend from: the first input is in the index, the others are linked to it. */
  readonly #byParent: SlotIndex | null;
  #nextSibling = new Int32Array(INITIAL);
  #previousSibling = new Int32Array(INITIAL);
  readonly #key = new Uint8Array(OUTPOINT);

  #nextOrder = 1;
  #lowestOrder = 1;
  #totals = { vsize: 0, size: 0, fee: 0, bytes: 0 };

  /** `spenders` enables `spendersOf`. */
  constructor({ spenders = false } = {}) {
    this.#byParent = spenders ? new SlotIndex(HASH, () => this.#outpoints, OUTPOINT) : null;
  }

  get count(): number {
    return this.#byTxid.count;
  }

  /** Totals of all entries: virtual bytes, serialized bytes, satoshis, and bytes of memory. */
  get totals(): Readonly<{ vsize: number; size: number; fee: number; bytes: number }> {
    return this.#totals;
  }

  /** The next arrival number, higher than those of all entries. */
  get nextOrder(): number {
    return this.#nextOrder;
  }

  /** A lower bound of the arrival numbers of all present and former entries. */
  get lowestOrder(): number {
    return this.#lowestOrder;
  }

  /** Raises the next arrival number above `order`. */
  orderBehind(order: number): void {
    this.#nextOrder = Math.max(this.#nextOrder, order + 1);
  }

  /** Returns the slot of a transaction, or -1. */
  find(txid: Uint8Array): number {
    return this.#byTxid.find(txid);
  }

  findWtxid(wtxid: Uint8Array): number {
    return this.#byWtxid.find(wtxid);
  }

  /** Returns the slot of the transaction that spends an outpoint, or -1. */
  spender({ txid, vout }: Outpoint): number {
    const key = this.#key;
    key.set(txid);
    writeVout(key, HASH, vout);
    const input = this.#byOutpoint.find(key);
    return input < 0 ? -1 : this.#owner[input]!;
  }

  /** Returns the slots of the transactions that spend outputs of `txid`, which need not be in the mempool. */
  spendersOf(txid: Uint8Array): number[] {
    const slots = new Set<number>();
    const first = this.#byParent?.find(txid) ?? -1;
    for (let input = first; input >= 0; input = this.#nextSibling[input]!) slots.add(this.#owner[input]!);
    return [...slots];
  }

  has(slot: number): boolean {
    return slot < this.#slots && !Number.isNaN(this.#bytesAt[slot]!);
  }

  /** Adds a transaction at a free slot. No entry may spend the same coins. */
  add(slot: number, entry: NewEntry): void {
    assert(!this.has(slot), 'the slot is free');
    while (slot >= this.#capacity) this.#grow();
    const { parsed } = entry;
    this.#txids.set(parsed.txid, slot * HASH);
    this.#wtxids.set(parsed.wtxid, slot * HASH);
    this.#byTxid.add(slot);
    this.#byWtxid.add(slot);
    this.#fee[slot] = entry.fee;
    this.setFeeDelta(slot, entry.feeDelta);
    this.#order[slot] = entry.order ?? this.#nextOrder;
    this.orderBehind(this.#order[slot]!);
    this.#lowestOrder = Math.min(this.#lowestOrder, this.#order[slot]!);
    this.#time[slot] = entry.time;
    this.#weight[slot] = entry.weight;
    this.#vsize[slot] = entry.vsize;
    this.#sigopCost[slot] = entry.sigopCost;
    this.#height[slot] = entry.height;
    this.#locked[slot] = entry.locked ? 1 : 0;
    const { raw, tx } = parsed;
    this.#rawLength[slot] = raw.length;
    this.#spentLength[slot] = entry.spent.length;
    this.#bytesAt[slot] = this.#bytes.add(raw, entry.spent);
    this.#slots = Math.max(this.#slots, slot + 1);
    this.#firstInput[slot] = -1;
    for (let i = tx.inputs.length - 1; i >= 0; i--) this.#addInput(slot, tx.inputs[i]!.prevout);
    this.#count(slot, tx.inputs.length, 1);
  }

  remove(slot: number): void {
    let inputs = 0;
    for (let input = this.#firstInput[slot]!; input >= 0; input = this.#nextInput[input]!) {
      this.#byOutpoint.remove(input);
      this.#unchain(input);
      this.#freeInputs.push(input);
      inputs++;
    }
    this.#count(slot, inputs, -1);
    this.#byTxid.remove(slot);
    this.#byWtxid.remove(slot);
    this.#bytes.free(this.#bytesAt[slot]!, this.#rawLength[slot]! + this.#spentLength[slot]!);
    this.#bytesAt[slot] = Number.NaN;
    this.#feeDelta.delete(slot);
  }

  /** Returns the txid as a view, valid until the next entry is added. */
  txid(slot: number): Txid {
    return this.#txids.subarray(slot * HASH, (slot + 1) * HASH) as Txid;
  }

  wtxid(slot: number): Wtxid {
    return this.#wtxids.subarray(slot * HASH, (slot + 1) * HASH) as Wtxid;
  }

  /**
   * Returns the serialization with witness as a view, valid until the entry is removed. It must not be transferred to
   * another thread.
   */
  raw(slot: number): Uint8Array {
    return this.#bytes.view(this.#bytesAt[slot]!, this.#rawLength[slot]!);
  }

  /** Returns the BIP-141 weight, or the weight equivalent of the sigops if that is higher. */
  adjustedWeight(slot: number, bytesPerSigop: number): number {
    return adjustedWeight(this.#weight[slot]!, this.#sigopCost[slot]!, bytesPerSigop);
  }

  /** Returns the undo records of the spent outputs, as a view like `raw`. */
  spent(slot: number): Uint8Array {
    const rawLength = this.#rawLength[slot]!;
    return this.#bytes.view(this.#bytesAt[slot]!, rawLength + this.#spentLength[slot]!).subarray(rawLength);
  }

  /** Returns the parsed transaction with its own copy of the bytes. */
  parsed(slot: number): ParsedTransaction {
    return parseTransaction(this.raw(slot).slice());
  }

  coins(slot: number, inputs: number): Coin[] {
    return readTxUndo(new ByteReader(this.spent(slot).slice()), inputs);
  }

  /** Returns, for each input in order, the slot of the transaction it spends from, or -1 if that is not an entry. */
  inputSlots(slot: number): number[] {
    const slots: number[] = [];
    for (let input = this.#firstInput[slot]!; input >= 0; input = this.#nextInput[input]!)
      slots.push(this.#byTxid.find(this.#outpoints, input * OUTPOINT));
    return slots;
  }

  /**
   * Copies the serialization to offset `at`, followed by txid and wtxid in display order. No views are created, as they
   * would cost as much as the copy.
   */
  copyShown(slot: number, to: Uint8Array, at: number): void {
    const rawLength = this.#rawLength[slot]!;
    this.#bytes.copy(this.#bytesAt[slot]!, rawLength, to, at);
    const [txids, wtxids] = [this.#txids, this.#wtxids];
    let from = (slot + 1) * HASH;
    for (let i = at + rawLength, end = i + HASH; i < end; i++) {
      from--;
      to[i] = txids[from]!;
      to[i + HASH] = wtxids[from]!;
    }
  }

  fee(slot: number): number {
    return this.#fee[slot]!;
  }

  feeDelta(slot: number): number {
    return this.#feeDelta.get(slot) ?? 0;
  }

  /** Returns the fee including the prioritisation delta. */
  modifiedFee(slot: number): number {
    return this.#fee[slot]! + this.feeDelta(slot);
  }

  setFeeDelta(slot: number, delta: number): void {
    if (delta === 0) this.#feeDelta.delete(slot);
    else this.#feeDelta.set(slot, delta);
  }

  weight(slot: number): number {
    return this.#weight[slot]!;
  }

  vsize(slot: number): number {
    return this.#vsize[slot]!;
  }

  size(slot: number): number {
    return this.#rawLength[slot]!;
  }

  sigopCost(slot: number): number {
    return this.#sigopCost[slot]!;
  }

  time(slot: number): number {
    return this.#time[slot]!;
  }

  height(slot: number): number {
    return this.#height[slot]!;
  }

  order(slot: number): number {
    return this.#order[slot]!;
  }

  locked(slot: number): boolean {
    return this.#locked[slot] === 1;
  }

  /** Yields all slots, unordered. No entry may be added during the iteration. */
  *slots(): Generator<number> {
    for (let slot = 0; slot < this.#slots; slot++) if (this.has(slot)) yield slot;
  }

  #count(slot: number, inputs: number, sign: 1 | -1): void {
    const totals = this.#totals;
    totals.vsize += sign * this.#vsize[slot]!;
    totals.size += sign * this.#rawLength[slot]!;
    totals.fee += sign * this.#fee[slot]!;
    const bytes = this.#rawLength[slot]! + this.#spentLength[slot]!;
    totals.bytes += sign * (bytes + ENTRY_BYTES + inputs * INPUT_BYTES);
  }

  #addInput(slot: number, { txid, vout }: Outpoint): void {
    const input = this.#freeInputs.pop() ?? this.#inputSlots++;
    if (input >= this.#owner.length) this.#growInputs();
    this.#outpoints.set(txid, input * OUTPOINT);
    writeVout(this.#outpoints, input * OUTPOINT + HASH, vout);
    this.#owner[input] = slot;
    this.#nextInput[input] = this.#firstInput[slot]!;
    this.#firstInput[slot] = input;
    this.#byOutpoint.add(input);
    this.#chain(input);
  }

  #chain(input: number): void {
    if (!this.#byParent) return;
    const first = this.#byParent.find(this.#outpoints.subarray(input * OUTPOINT, input * OUTPOINT + HASH));
    this.#previousSibling[input] = first;
    this.#nextSibling[input] = first < 0 ? -1 : this.#nextSibling[first]!;
    if (first < 0) {
      this.#byParent.add(input);
      return;
    }
    const next = this.#nextSibling[first]!;
    if (next >= 0) this.#previousSibling[next] = input;
    this.#nextSibling[first] = input;
  }

  #unchain(input: number): void {
    if (!this.#byParent) return;
    const previous = this.#previousSibling[input]!;
    const next = this.#nextSibling[input]!;
    if (next >= 0) this.#previousSibling[next] = previous;
    if (previous >= 0) {
      this.#nextSibling[previous] = next;
      return;
    }
    this.#byParent.remove(input);
    if (next >= 0) this.#byParent.add(next);
  }

  #grow(): void {
    const before = this.#capacity;
    const rows = grownRows(before);
    this.#capacity = rows;
    this.#txids = grown(this.#txids, rows * HASH);
    this.#wtxids = grown(this.#wtxids, rows * HASH);
    this.#fee = grown(this.#fee, rows);
    this.#order = grown(this.#order, rows);
    this.#time = grown(this.#time, rows);
    this.#weight = grown(this.#weight, rows);
    this.#vsize = grown(this.#vsize, rows);
    this.#sigopCost = grown(this.#sigopCost, rows);
    this.#height = grown(this.#height, rows);
    this.#rawLength = grown(this.#rawLength, rows);
    this.#spentLength = grown(this.#spentLength, rows);
    this.#bytesAt = grown(this.#bytesAt, rows).fill(Number.NaN, before);
    this.#firstInput = grown(this.#firstInput, rows);
    this.#locked = grown(this.#locked, rows);
  }

  #growInputs(): void {
    const rows = grownRows(this.#owner.length);
    this.#outpoints = grown(this.#outpoints, rows * OUTPOINT);
    this.#owner = grown(this.#owner, rows);
    this.#nextInput = grown(this.#nextInput, rows);
    if (!this.#byParent) return;
    this.#nextSibling = grown(this.#nextSibling, rows);
    this.#previousSibling = grown(this.#previousSibling, rows);
  }
}

function writeVout(bytes: Uint8Array, at: number, vout: number): void {
  bytes[at] = vout;
  bytes[at + 1] = vout >>> 8;
  bytes[at + 2] = vout >>> 16;
  bytes[at + 3] = vout >>> 24;
}
