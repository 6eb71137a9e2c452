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

const HASH = 32;
const OUTPOINT = 36;
const INITIAL = 256;
/** Bytes an entry takes beside its transaction, its coins and its inputs: the columns, both indexes, the graph. */
const ENTRY_BYTES = 330;
/** Of each input: its outpoint, its owner and its place in the index. */
const INPUT_BYTES = OUTPOINT + 4 + 4 + 12;

/** Facts of a transaction that enters. Amounts in satoshis. */
export interface NewEntry {
  readonly parsed: ParsedTransaction;
  /** Undo records of the outputs it spends. */
  readonly spent: Uint8Array;
  readonly fee: number;
  readonly feeDelta: number;
  /** BIP-141 weight, and what counts in the mempool: the same, or what its sigops amount to. */
  readonly weight: number;
  readonly vsize: number;
  readonly sigopCost: number;
  /** Unix seconds. */
  readonly time: number;
  readonly height: number;
  /** Its place in the order of arrival; behind all others where not given. */
  readonly order?: number;
  /** A reorg can make it premature: it spends a coinbase, or is locked until some height or time. */
  readonly locked: boolean;
}

/**
 * The transactions of the mempool in columns, one slot each: plain objects and maps of hundreds of thousands would
 * cost several times their bytes and stop the thread for their collection. Slots are given by the caller.
 */
export class Entries {
  #capacity = INITIAL;
  #txids = new Uint8Array(INITIAL * HASH);
  #wtxids = new Uint8Array(INITIAL * HASH);
  #fee = new Float64Array(INITIAL);
  /** Few have one. */
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
  /** The encoding of each transaction, and behind it its coins: where they are; NaN where the slot is free. */
  #bytesAt = new Float64Array(INITIAL).fill(Number.NaN);
  readonly #bytes = new ByteArena();
  #slots = 0;
  readonly #byTxid = new SlotIndex(HASH, () => this.#txids);
  readonly #byWtxid = new SlotIndex(HASH, () => this.#wtxids);

  // Inputs have slots of their own, chained from the entry.
  #outpoints = new Uint8Array(INITIAL * OUTPOINT);
  #owner = new Int32Array(INITIAL);
  #nextInput = new Int32Array(INITIAL);
  readonly #freeInputs: number[] = [];
  #inputSlots = 0;
  readonly #byOutpoint = new SlotIndex(OUTPOINT, () => this.#outpoints);
  /** Inputs that spend outputs of the same transaction are chained, and the first of them can be found by its id. */
  readonly #byParent: SlotIndex | null;
  #nextSibling = new Int32Array(INITIAL);
  #previousSibling = new Int32Array(INITIAL);
  readonly #key = new Uint8Array(OUTPOINT);

  #nextOrder = 1;
  #lowestOrder = 1;
  #totals = { vsize: 0, size: 0, fee: 0, bytes: 0 };

  /** `spenders`: whether `spendersOf` can be asked. */
  constructor({ spenders = false } = {}) {
    this.#byParent = spenders ? new SlotIndex(HASH, () => this.#outpoints, OUTPOINT) : null;
  }

  get count(): number {
    return this.#byTxid.count;
  }

  /** Virtual bytes, serialized bytes, satoshis, and bytes of memory of all. */
  get totals(): Readonly<{ vsize: number; size: number; fee: number; bytes: number }> {
    return this.#totals;
  }

  /** What the next one gets for its place in the order of arrival: all that are here have a lower one. */
  get nextOrder(): number {
    return this.#nextOrder;
  }

  /** None that is here, or was, has a lower place in the order of arrival. */
  get lowestOrder(): number {
    return this.#lowestOrder;
  }

  /** Who comes from now on without a place in the order of arrival gets one behind this. */
  orderBehind(order: number): void {
    this.#nextOrder = Math.max(this.#nextOrder, order + 1);
  }

  /** The slot of a transaction, or -1. */
  find(txid: Uint8Array): number {
    return this.#byTxid.find(txid);
  }

  findWtxid(wtxid: Uint8Array): number {
    return this.#byWtxid.find(wtxid);
  }

  /** The slot of the transaction that spends an outpoint, or -1. */
  spender({ txid, vout }: Outpoint): number {
    const key = this.#key;
    key.set(txid);
    writeVout(key, HASH, vout);
    const input = this.#byOutpoint.find(key);
    return input < 0 ? -1 : this.#owner[input]!;
  }

  /** Slots of the transactions that spend outputs of this one, in the mempool or not. */
  spendersOf(txid: Uint8Array): number[] {
    const slots = new Set<number>();
    const first = this.#byParent?.find(txid) ?? -1;
    for (let input = first; input >= 0; input = this.#nextSibling[input]!) slots.add(this.#owner[input]!);
    return [...slots];
  }

  has(slot: number): boolean {
    return slot < this.#slots && !Number.isNaN(this.#bytesAt[slot]!);
  }

  /** Puts a transaction into a free slot; none of its inputs may be spent here already. */
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

  /** A view, valid until the next entry is added. */
  txid(slot: number): Txid {
    return this.#txids.subarray(slot * HASH, (slot + 1) * HASH) as Txid;
  }

  wtxid(slot: number): Wtxid {
    return this.#wtxids.subarray(slot * HASH, (slot + 1) * HASH) as Wtxid;
  }

  /** The encoding with witness: a view, valid as long as the entry is there. Not to be sent to another thread. */
  raw(slot: number): Uint8Array {
    return this.#bytes.view(this.#bytesAt[slot]!, this.#rawLength[slot]!);
  }

  /** BIP-141 weight, or what its sigops amount to where that is more. */
  adjustedWeight(slot: number, bytesPerSigop: number): number {
    return adjustedWeight(this.#weight[slot]!, this.#sigopCost[slot]!, bytesPerSigop);
  }

  /** Undo records of the outputs it spends: a view, as `raw`. */
  spent(slot: number): Uint8Array {
    const rawLength = this.#rawLength[slot]!;
    return this.#bytes.view(this.#bytesAt[slot]!, rawLength + this.#spentLength[slot]!).subarray(rawLength);
  }

  /** With bytes of its own, which stay. */
  parsed(slot: number): ParsedTransaction {
    return parseTransaction(this.raw(slot).slice());
  }

  coins(slot: number, inputs: number): Coin[] {
    return readTxUndo(new ByteReader(this.spent(slot).slice()), inputs);
  }

  /** Of each input, in their order, the slot of the transaction it spends from; -1 where that is not here. */
  inputSlots(slot: number): number[] {
    const slots: number[] = [];
    for (let input = this.#firstInput[slot]!; input >= 0; input = this.#nextInput[input]!)
      slots.push(this.#byTxid.find(this.#outpoints, input * OUTPOINT));
    return slots;
  }

  /**
   * Puts the encoding at `at`, and behind it txid and wtxid with the last byte first, as they are shown. Without a view
   * for each, which would cost as much as the copy.
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

  /** What it pays with prioritisation. */
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

  /** All slots, in no order. Entries must not be added meanwhile. */
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
