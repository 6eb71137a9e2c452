import { adjustedWeight } from '../policy/virtual-size.ts';
import { type ParsedTransaction, parseTransaction } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import type { Txid, Wtxid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { assert } from '../util/assert.ts';
import { ByteArena, type SegmentChange } from '../util/byte-arena.ts';
import { ByteReader } from '../util/bytes.ts';
import { grown } from '../util/column.ts';
import { SlotIndex } from '../util/slot-index.ts';
import type { EntryFacts } from './changes.ts';
import {
  capacityFor,
  type EntryColumns,
  INPUT_ROW_BYTES,
  type InputColumns,
  inputColumns,
  TRANSACTION_ROW_BYTES,
  type TransactionColumns,
  transactionColumns,
} from './entry-columns.ts';
import { RetiredRows } from './retired-rows.ts';
import { SpenderIndex } from './spender-index.ts';
import type { UpdateProgress } from './update-progress.ts';

const HASH = 32;
const OUTPOINT = 36;
/**
 * Memory of an entry beyond its bytes, inputs and outputs: its row, both indexes of each thread, the graph, arrivals, and the
 * share of the process that grows with it: free parts of tables and segments, garbage that is not collected yet.
 */
const ENTRY_BYTES = TRANSACTION_ROW_BYTES + 430;
/** Memory of an input, bytes: its row, its index entry on each thread, its link among the spenders. */
const INPUT_BYTES = INPUT_ROW_BYTES + 45;
/** Memory of an input or output in the mirror's index of scripts, bytes. */
const SCRIPT_BYTES = 60;

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

/** Memory of entries that a thread shares with its readers, as far as it changed since the last update. */
export interface SharedEntries {
  /** The columns, if they were replaced by larger ones. */
  readonly rows: TransactionColumns | null;
  readonly inputs: InputColumns | null;
  readonly segments: readonly SegmentChange[];
}

/** State of a slot: without a transaction, with one, or with a removed one that readers may still read. */
const FREE = 0;
const PRESENT = 1;
const RETIRED = 2;

export interface EntriesOptions {
  /** Enables `spendersOf`. */
  readonly spenders?: boolean;
  /** The columns to begin with, which the followers have as well; small ones of its own if absent. */
  readonly columns?: EntryColumns;
  /** Set if other threads read the entries. */
  readonly progress?: UpdateProgress;
  /** `order` returns the number of the event that announced a transaction, as readers order them. */
  readonly byEvent?: boolean;
}

/**
 * The transactions of the mempool in typed arrays, one slot each. Hundreds of thousands of objects and maps would take
 * several times the memory and block the thread during garbage collection. The caller assigns the slots. Another thread
 * can follow the entries: it reads the same columns and bytes, and has only indexes of its own.
 */
export class Entries {
  #rows: TransactionColumns;
  #inputs: InputColumns;
  #capacity: number;
  /** Whether the followers do not have the columns yet. */
  #rowsReplaced: boolean;
  #inputsReplaced: boolean;
  readonly #bytes = new ByteArena();
  #state = new Uint8Array(0);
  /** Only prioritised transactions have one. */
  readonly #feeDelta = new Map<number, number>();
  readonly #retired: RetiredRows | null;
  #slots = 0;
  readonly #byTxid = new SlotIndex(HASH, () => this.#rows.txids);
  readonly #byWtxid = new SlotIndex(HASH, () => this.#rows.wtxids);
  readonly #freeInputs: number[] = [];
  #inputSlots = 0;
  readonly #byOutpoint = new SlotIndex(OUTPOINT, () => this.#inputs.outpoints);
  readonly #spenders: SpenderIndex | null;
  readonly #byEvent: boolean;
  readonly #key = new Uint8Array(OUTPOINT);

  #nextOrder = 1;
  #lowestOrder = 1;
  #totals = { vsize: 0, size: 0, fee: 0, bytes: 0 };

  constructor({ spenders = false, columns, progress, byEvent = false }: EntriesOptions = {}) {
    this.#byEvent = byEvent;
    this.#rows = columns?.rows ?? transactionColumns();
    this.#inputs = columns?.inputs ?? inputColumns();
    this.#rowsReplaced = this.#inputsReplaced = columns === undefined;
    this.#capacity = this.#rows.fee.length;
    this.#state = new Uint8Array(this.#capacity);
    this.#retired = progress ? new RetiredRows(progress) : null;
    this.#spenders = spenders ? new SpenderIndex(HASH, OUTPOINT, () => this.#inputs.outpoints) : null;
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
    return input < 0 ? -1 : this.#inputs.owner[input]!;
  }

  /** Returns the slots of the transactions that spend outputs of `txid`, which need not be in the mempool. */
  spendersOf(txid: Uint8Array): number[] {
    const slots = new Set<number>();
    for (const input of this.#spenders?.inputs(txid) ?? []) slots.add(this.#inputs.owner[input]!);
    return [...slots];
  }

  has(slot: number): boolean {
    return this.#state[slot] === PRESENT;
  }

  /** Returns whether a slot can be assigned to a transaction. */
  isFree(slot: number): boolean {
    this.#releaseRetired();
    return (this.#state[slot] ?? FREE) === FREE;
  }

  /** Adds a transaction at a free slot. No entry may spend the same coins. */
  add(slot: number, entry: NewEntry): void {
    assert((this.#state[slot] ?? FREE) === FREE, 'the slot is free');
    if (slot >= this.#capacity) this.#grow(slot);
    const { parsed } = entry;
    const { raw, tx } = parsed;
    const rows = this.#rows;
    rows.txids.set(parsed.txid, slot * HASH);
    rows.wtxids.set(parsed.wtxid, slot * HASH);
    rows.fee[slot] = entry.fee;
    rows.order[slot] = entry.order ?? this.#nextOrder;
    rows.time[slot] = entry.time;
    rows.weight[slot] = entry.weight;
    rows.vsize[slot] = entry.vsize;
    rows.sigopCost[slot] = entry.sigopCost;
    rows.height[slot] = entry.height;
    rows.locked[slot] = entry.locked ? 1 : 0;
    rows.rawLength[slot] = raw.length;
    rows.spentLength[slot] = entry.spent.length;
    rows.bytesAt[slot] = this.#bytes.add(raw, entry.spent);
    const { inputs, outputs } = tx;
    rows.memory[slot] =
      ENTRY_BYTES +
      raw.length +
      entry.spent.length +
      inputs.length * INPUT_BYTES +
      (inputs.length + outputs.length) * SCRIPT_BYTES;
    rows.firstInput[slot] = -1;
    for (let i = inputs.length - 1; i >= 0; i--) this.#addInput(slot, inputs[i]!.prevout);
    this.orderBehind(rows.order[slot]!);
    this.#lowestOrder = Math.min(this.#lowestOrder, rows.order[slot]!);
    this.adopt(slot, entry.feeDelta);
  }

  /** Adds the row of a slot to the indexes. Followers call it when the owner of the columns has announced the row. */
  adopt(slot: number, feeDelta: number): void {
    if (slot >= this.#state.length) this.#state = grown(this.#state, capacityFor(slot, this.#rows.fee.length));
    this.#state[slot] = PRESENT;
    this.#slots = Math.max(this.#slots, slot + 1);
    this.setFeeDelta(slot, feeDelta);
    this.#byTxid.add(slot);
    this.#byWtxid.add(slot);
    for (let input = this.#rows.firstInput[slot]!; input >= 0; input = this.#inputs.next[input]!) {
      this.#byOutpoint.add(input);
      this.#spenders?.add(input);
    }
    this.#count(slot, 1);
  }

  remove(slot: number): void {
    this.drop(slot);
    if (this.#retired) {
      this.#state[slot] = RETIRED;
      this.#retired.add(slot);
    } else this.#release(slot);
  }

  /** Removes a slot from the indexes only, as followers do: its row belongs to another thread. */
  drop(slot: number): void {
    for (let input = this.#rows.firstInput[slot]!; input >= 0; input = this.#inputs.next[input]!) {
      this.#byOutpoint.remove(input);
      this.#spenders?.remove(input);
    }
    this.#count(slot, -1);
    this.#byTxid.remove(slot);
    this.#byWtxid.remove(slot);
    this.#feeDelta.delete(slot);
    this.#state[slot] = FREE;
  }

  /** Returns the memory that followers need to read all rows added so far, as far as it is new since the last call. */
  drainShared(): SharedEntries | null {
    const segments = this.#bytes.drainChanges();
    const rows = this.#rowsReplaced ? this.#rows : null;
    const inputs = this.#inputsReplaced ? this.#inputs : null;
    this.#rowsReplaced = this.#inputsReplaced = false;
    return rows || inputs || segments.length > 0 ? { rows, inputs, segments } : null;
  }

  /** Follows the entries of another thread by its shared memory. */
  applyShared({ rows, inputs, segments }: SharedEntries): void {
    if (rows) this.#rows = rows;
    if (inputs) this.#inputs = inputs;
    this.#bytes.applyChanges(segments);
  }

  /** Returns the txid as a view, valid until the next entry is added. */
  txid(slot: number): Txid {
    return this.#rows.txids.subarray(slot * HASH, (slot + 1) * HASH) as Txid;
  }

  wtxid(slot: number): Wtxid {
    return this.#rows.wtxids.subarray(slot * HASH, (slot + 1) * HASH) as Wtxid;
  }

  /**
   * Returns the serialization with witness as a view, valid until the entry is removed. It must not be transferred to
   * another thread.
   */
  raw(slot: number): Uint8Array {
    return this.#bytes.view(this.#rows.bytesAt[slot]!, this.#rows.rawLength[slot]!);
  }

  /** Returns the BIP-141 weight, or the weight equivalent of the sigops if that is higher. */
  adjustedWeight(slot: number, bytesPerSigop: number): number {
    return adjustedWeight(this.#rows.weight[slot]!, this.#rows.sigopCost[slot]!, bytesPerSigop);
  }

  /** Returns the undo records of the spent outputs, as a view like `raw`. */
  spent(slot: number): Uint8Array {
    const rawLength = this.#rows.rawLength[slot]!;
    return this.#bytes.view(this.#rows.bytesAt[slot]!, rawLength + this.#rows.spentLength[slot]!).subarray(rawLength);
  }

  /** Returns the transaction with its undo records, as views like `raw`; also of a removed one that readers may still read. */
  source(slot: number): { readonly raw: Uint8Array; readonly spent: Uint8Array } {
    return { raw: this.raw(slot), spent: this.spent(slot) };
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
    const { outpoints, next } = this.#inputs;
    for (let input = this.#rows.firstInput[slot]!; input >= 0; input = next[input]!)
      slots.push(this.#byTxid.find(outpoints, input * OUTPOINT));
    return slots;
  }

  /**
   * Copies the serialization to offset `at`, followed by txid and wtxid in display order. No views are created, as they
   * would cost as much as the copy.
   */
  copyShown(slot: number, to: Uint8Array, at: number): void {
    const rawLength = this.#rows.rawLength[slot]!;
    this.#bytes.copy(this.#rows.bytesAt[slot]!, rawLength, to, at);
    const { txids, wtxids } = this.#rows;
    let from = (slot + 1) * HASH;
    for (let i = at + rawLength, end = i + HASH; i < end; i++) {
      from--;
      to[i] = txids[from]!;
      to[i + HASH] = wtxids[from]!;
    }
  }

  /** Sets the number of the event that announces the transaction, before its row is announced to followers. */
  setSeq(slot: number, seq: number): void {
    this.#rows.seq[slot] = seq;
  }

  fee(slot: number): number {
    return this.#rows.fee[slot]!;
  }

  feeDelta(slot: number): number {
    return this.#feeDelta.get(slot) ?? 0;
  }

  /** Returns the fee including the prioritisation delta. */
  modifiedFee(slot: number): number {
    return this.#rows.fee[slot]! + this.feeDelta(slot);
  }

  setFeeDelta(slot: number, delta: number): void {
    if (delta === 0) this.#feeDelta.delete(slot);
    else this.#feeDelta.set(slot, delta);
  }

  weight(slot: number): number {
    return this.#rows.weight[slot]!;
  }

  vsize(slot: number): number {
    return this.#rows.vsize[slot]!;
  }

  size(slot: number): number {
    return this.#rows.rawLength[slot]!;
  }

  sigopCost(slot: number): number {
    return this.#rows.sigopCost[slot]!;
  }

  time(slot: number): number {
    return this.#rows.time[slot]!;
  }

  height(slot: number): number {
    return this.#rows.height[slot]!;
  }

  /** Returns the arrival number, or for readers the number of the event that announced the transaction. */
  order(slot: number): number {
    return this.#byEvent ? this.#rows.seq[slot]! : this.#rows.order[slot]!;
  }

  locked(slot: number): boolean {
    return this.#rows.locked[slot] === 1;
  }

  /** Yields all slots, unordered. No entry may be added during the iteration. */
  *slots(): Generator<number> {
    for (let slot = 0; slot < this.#slots; slot++) if (this.has(slot)) yield slot;
  }

  #count(slot: number, sign: 1 | -1): void {
    const { vsize, rawLength, fee, memory } = this.#rows;
    const totals = this.#totals;
    totals.vsize += sign * vsize[slot]!;
    totals.size += sign * rawLength[slot]!;
    totals.fee += sign * fee[slot]!;
    totals.bytes += sign * memory[slot]!;
  }

  #addInput(slot: number, { txid, vout }: Outpoint): void {
    const input = this.#freeInputs.pop() ?? this.#inputSlots++;
    const capacity = this.#inputs.owner.length;
    if (input >= capacity) {
      this.#inputs = inputColumns(capacityFor(input, capacity), this.#inputs);
      this.#inputsReplaced = true;
    }
    const { outpoints, owner, next } = this.#inputs;
    outpoints.set(txid, input * OUTPOINT);
    writeVout(outpoints, input * OUTPOINT + HASH, vout);
    owner[input] = slot;
    next[input] = this.#rows.firstInput[slot]!;
    this.#rows.firstInput[slot] = input;
  }

  #releaseRetired(): void {
    if (!this.#retired) return;
    for (let slot = this.#retired.next(); slot >= 0; slot = this.#retired.next()) {
      this.#state[slot] = FREE;
      this.#release(slot);
    }
  }

  /** Frees the memory of a row that no thread reads any more. */
  #release(slot: number): void {
    const { firstInput, bytesAt, rawLength, spentLength } = this.#rows;
    const { next } = this.#inputs;
    for (let input = firstInput[slot]!; input >= 0; input = next[input]!) this.#freeInputs.push(input);
    this.#bytes.free(bytesAt[slot]!, rawLength[slot]! + spentLength[slot]!);
  }

  #grow(slot: number): void {
    this.#capacity = capacityFor(slot, this.#capacity);
    this.#rows = transactionColumns(this.#capacity, this.#rows);
    this.#state = grown(this.#state, this.#capacity);
    this.#rowsReplaced = true;
  }
}

function writeVout(bytes: Uint8Array, at: number, vout: number): void {
  bytes[at] = vout;
  bytes[at + 1] = vout >>> 8;
  bytes[at + 2] = vout >>> 16;
  bytes[at + 3] = vout >>> 24;
}
