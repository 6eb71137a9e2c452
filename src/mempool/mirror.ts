import { type ParsedTransaction, parseTransaction } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { unpackScripts } from '../primitives/packed-scripts.ts';
import { assert } from '../util/assert.ts';
import type { Clock } from '../util/clock.ts';
import { Arrivals } from './arrivals.ts';
import type { EntryFacts, MempoolChange, MempoolTotals, SentChange } from './changes.ts';
import { Entries, type SharedEntries } from './entries.ts';
import type { EntryColumns } from './entry-columns.ts';
import { FeeHistogram } from './fee-histogram.ts';
import type { FeeReport } from './fees/fee-estimator.ts';
import { ReplacementHistory } from './replacement-history.ts';
import { ScriptIndex } from './script-index.ts';

/** A transaction of the mempool with its properties. Amounts in satoshis. */
export interface Unconfirmed extends Omit<EntryFacts, 'weight' | 'sigopCost'> {
  readonly slot: number;
  readonly seq: number;
  readonly parsed: ParsedTransaction;
  /** Spent coins in input order. */
  readonly spent: readonly Coin[];
  readonly unbroadcast: boolean;
  readonly replaced: readonly Txid[];
}

/** Sums over the mempool transactions that involve one script. Amounts in satoshis. */
export interface ScriptSums {
  readonly txs: number;
  readonly received: number;
  readonly sent: number;
  readonly outputs: number;
  readonly inputs: number;
}

/** An unconfirmed transaction with the undo records of its spent outputs. */
export interface TxSource {
  readonly raw: Uint8Array;
  readonly spent: Uint8Array;
}

/** A subset of a mirror in plain form, for a thread without a mirror. */
export interface MirrorPart {
  readonly tip: string | null;
  readonly seq: number;
  readonly added: readonly AddedChange[];
  /** Txids all of whose spenders are included. */
  readonly covered: readonly Uint8Array[];
  /** Packed scripts all of whose transactions are included; absent without any. */
  readonly scripts?: Uint8Array | undefined;
}

type AddedChange = Extract<MempoolChange, { kind: 'added' }>;
type RemovedChange = Extract<MempoolChange, { kind: 'removed' }>;
type RowChange = Extract<SentChange, { kind: 'row' }>;

/**
 * The mempool as readers on another thread see it, updated by the mempool's changes in order, so that readers never wait
 * for the node thread. It reads the entries in the memory of the mempool itself, and has indexes of its own; without such
 * memory it has copies of the entries. What it returns as a view is valid until the next change.
 */
export class MempoolMirror {
  readonly entries = new Entries({ spenders: true, byEvent: true });
  readonly #scripts = new ScriptIndex();
  readonly #arrivals = new Arrivals();
  readonly #histogram = new FeeHistogram();
  readonly #free: number[] = [];
  #slots = 0;
  readonly #unbroadcast = new Set<number>();
  readonly #replaced = new Map<number, readonly Txid[]>();
  /** Transactions that were replaced within the last day. */
  readonly replacements: ReplacementHistory;
  #totals: MempoolTotals | null = null;
  #fees: FeeReport | null = null;
  /** The owner of the entries' memory; null while it is not known. */
  #owner: 'mirror' | 'mempool' | null = null;
  #seq = 0;
  #firstSeq: number | null = null;
  #tip: string | null = null;
  /** In a mirror made from a part: txids whose spenders are known. Null in a complete mirror. */
  #covered: ReadonlySet<string> | null = null;
  /** In a mirror made from a part: scripts, as hex, whose transactions are known. Null in a complete mirror. */
  #coveredScripts: ReadonlySet<string> | null = null;

  /** `columns` are those of the mempool where the mirror reads its entries; null where it does not, or learns them later. */
  constructor(clock: Clock, columns: EntryColumns | null = null) {
    this.replacements = new ReplacementHistory(clock);
    if (columns) this.share({ ...columns, segments: [] });
  }

  /** Creates a mirror with the contents of a part. */
  static fromPart({ tip, seq, added, covered, scripts }: MirrorPart, clock: Clock): MempoolMirror {
    const mirror = new MempoolMirror(clock);
    for (const change of added.toSorted((a, b) => a.seq - b.seq)) mirror.apply(change);
    mirror.#tip = tip;
    mirror.#seq = seq;
    mirror.#covered = new Set(covered.map((txid) => hashToHex(txid as Txid)));
    mirror.#coveredScripts = new Set(scripts ? Array.from(unpackScripts(scripts), (script) => script.toHex()) : []);
    return mirror;
  }

  /** Hash of the block it is consistent with, display order; null before the first is known. */
  get tip(): string | null {
    return this.#tip;
  }

  set tip(hash: string | null) {
    this.#tip = hash;
  }

  /** Totals after the last changes; null before the first. */
  get totals(): MempoolTotals | null {
    return this.#totals;
  }

  /** The last fee report; null before the first. */
  get fees(): FeeReport | null {
    return this.#fees;
  }

  /** Number of the newest event; 0 before the first. */
  get seq(): number {
    return this.#seq;
  }

  /** Number of the first event since the start; null before it. Lower numbers belong to earlier runs. */
  get firstSeq(): number | null {
    return this.#firstSeq;
  }

  /** Reads the entries of the mempool from now on. It must be called before the first of their rows is announced. */
  share(shared: SharedEntries): void {
    this.#owner ??= 'mempool';
    assert(this.#owner === 'mempool', 'the mirror has no entries of its own');
    this.entries.applyShared(shared);
  }

  /** Applies the next change. */
  apply(change: SentChange): void {
    switch (change.kind) {
      case 'added':
        this.#add(change);
        break;
      case 'row':
        this.#adopt(change);
        break;
      case 'removed':
        this.#remove(change);
        break;
      case 'modified': {
        const slot = this.entries.find(change.txid);
        if (slot < 0) return;
        this.entries.setFeeDelta(slot, change.feeDelta);
        if (change.unbroadcast) this.#unbroadcast.add(slot);
        else this.#unbroadcast.delete(slot);
        return;
      }
      case 'note':
        return;
      case 'fees':
        this.#fees = change.report;
        return;
      case 'totals':
        this.#totals = change.totals;
        return;
      case 'update':
        this.#totals = change.totals;
        break;
    }
    this.#seq = change.seq;
    this.#firstSeq ??= change.seq;
  }

  entryAt(slot: number): Unconfirmed {
    const { entries } = this;
    const parsed = entries.parsed(slot);
    return {
      slot,
      seq: entries.order(slot),
      parsed,
      spent: entries.coins(slot, parsed.tx.inputs.length),
      fee: entries.fee(slot),
      feeDelta: entries.feeDelta(slot),
      vsize: entries.vsize(slot),
      time: entries.time(slot),
      height: entries.height(slot),
      unbroadcast: this.#unbroadcast.has(slot),
      replaced: this.#replaced.get(slot) ?? [],
    };
  }

  /** Returns a copy of a transaction's bytes for callers that keep them, or null if it is not in the mempool. */
  source(txid: Uint8Array): TxSource | null {
    const slot = this.entries.find(txid);
    return slot < 0 ? null : this.sourceAt(slot);
  }

  /** Yields copies of all transactions in order of arrival; each is copied when it is reached. */
  *sources(): Generator<TxSource> {
    for (const slot of this.#arrivals.after(0)) yield this.sourceAt(slot);
  }

  /** Returns a copy of the bytes of the transaction at a slot. */
  sourceAt(slot: number): TxSource {
    return { raw: this.entries.raw(slot).slice(), spent: this.entries.spent(slot).slice() };
  }

  /** Returns a copy of the transaction at a slot if the event with the number `seq` announced it, else null. */
  announcedAt(slot: number, seq: number): TxSource | null {
    return this.entries.has(slot) && this.entries.order(slot) === seq ? this.sourceAt(slot) : null;
  }

  findEntry(txid: Uint8Array): Unconfirmed | null {
    const slot = this.entries.find(txid);
    return slot < 0 ? null : this.entryAt(slot);
  }

  has(txid: Uint8Array): boolean {
    return this.entries.find(txid) >= 0;
  }

  get unbroadcastCount(): number {
    return this.#unbroadcast.size;
  }

  isUnbroadcast(slot: number): boolean {
    return this.#unbroadcast.has(slot);
  }

  /** Returns the transaction that spends an output, or null. */
  spender(outpoint: Outpoint): Txid | null {
    const slot = this.entries.spender(outpoint);
    return slot < 0 ? null : (this.entries.txid(slot).slice() as Txid);
  }

  /** Returns the current slots, oldest first, with -1 for removed ones, and the numbers of their events. */
  arrivalOrder(): { slots: Int32Array; numbers: Float64Array } {
    return this.#arrivals.all();
  }

  /** Yields the slots added after an event, oldest first; or before it, newest first. */
  after(seq: number): Generator<number> {
    return this.#arrivals.after(seq);
  }

  before(seq: number): Generator<number> {
    return this.#arrivals.before(seq);
  }

  scriptSums(script: Uint8Array): ScriptSums {
    const sums = { txs: 0, received: 0, sent: 0, outputs: 0, inputs: 0 };
    for (const { received, sent, outputs, inputs } of this.#scripts.touches(script)) {
      sums.txs++;
      sums.received += received;
      sums.sent += sent;
      sums.outputs += outputs;
      sums.inputs += inputs;
    }
    return sums;
  }

  /** Returns the slots of the transactions that involve a script, in order of arrival. */
  slotsOfScript(script: Uint8Array): number[] {
    const slots = Array.from(this.#scripts.touches(script), ({ slot }) => slot);
    return slots.sort((a, b) => this.entries.order(a) - this.entries.order(b));
  }

  /** Returns virtual bytes by feerate band, highest first: lower bound in sat/vB, virtual bytes. */
  histogram(): [rate: number, vsize: number][] {
    return this.#histogram.bands();
  }

  /** Returns the Unix time of the oldest acceptance; null if the mempool is empty. */
  oldest(): number | null {
    for (const slot of this.#arrivals.after(0)) return this.entries.time(slot);
    return null;
  }

  /**
   * Returns a part for another thread: the given transactions, and all that spend outputs of the `covered` ones. The
   * given ones include those of the packed `scripts`.
   */
  part(slots: Iterable<number>, covered: readonly Uint8Array[], scripts?: Uint8Array): MirrorPart {
    const selected = new Set(slots);
    for (const txid of covered) for (const slot of this.entries.spendersOf(txid)) selected.add(slot);
    const added = Array.from(selected, (slot) => this.#change(slot));
    return { tip: this.#tip, seq: this.#seq, added, covered, ...(scripts && { scripts }) };
  }

  /** Returns the txids whose spenders are unknown; none in a complete mirror. */
  notCovered(txids: readonly Txid[]): Txid[] {
    const covered = this.#covered;
    return covered ? txids.filter((txid) => !covered.has(hashToHex(txid))) : [];
  }

  /** Whether all transactions of a script are known, as always in a complete mirror. */
  coversScript(script: Uint8Array): boolean {
    return this.#coveredScripts?.has(script.toHex()) ?? true;
  }

  #add(change: AddedChange): void {
    const { raw, spent, seq } = change;
    const parsed = parseTransaction(raw);
    this.#owner ??= 'mirror';
    assert(this.#owner === 'mirror' && this.entries.find(parsed.txid) < 0, 'a transaction comes once');
    const slot = this.#free.pop() ?? this.#slots++;
    this.entries.add(slot, { ...change, parsed, spent, order: seq, locked: false });
    this.entries.setSeq(slot, seq);
    this.#index(slot, change);
  }

  #adopt(change: RowChange): void {
    assert(this.#owner === 'mempool', 'the entries of the mempool are shared');
    this.entries.adopt(change.slot, change.feeDelta);
    this.#index(change.slot, change);
  }

  #index(slot: number, { seq, fee, vsize, unbroadcast, replaced }: AddedChange | RowChange): void {
    const { entries } = this;
    this.#scripts.add(slot, entries.raw(slot), entries.spent(slot));
    this.#arrivals.add(seq, slot);
    this.#histogram.add(fee, vsize);
    if (unbroadcast) this.#unbroadcast.add(slot);
    if (replaced.length > 0) this.#replaced.set(slot, replaced as readonly Txid[]);
    this.replacements.forget(entries.txid(slot));
  }

  #remove({ txid, replacedBy }: RemovedChange): void {
    const { entries } = this;
    const slot = entries.find(txid);
    if (slot < 0) return;
    if (replacedBy !== null)
      this.replacements.add({
        txid: txid as Txid,
        replacedBy: replacedBy as Txid,
        fee: entries.fee(slot),
        vsize: entries.vsize(slot),
        time: entries.time(slot),
      });
    this.#histogram.remove(entries.fee(slot), entries.vsize(slot));
    this.#arrivals.remove(entries.order(slot));
    this.#scripts.remove(slot);
    this.#unbroadcast.delete(slot);
    this.#replaced.delete(slot);
    if (this.#owner === 'mempool') entries.drop(slot);
    else {
      entries.remove(slot);
      this.#free.push(slot);
    }
  }

  #change(slot: number): AddedChange {
    const { entries } = this;
    return {
      kind: 'added',
      seq: entries.order(slot),
      data: '',
      silent: true,
      slot,
      raw: entries.raw(slot).slice(),
      spent: entries.spent(slot).slice(),
      fee: entries.fee(slot),
      feeDelta: entries.feeDelta(slot),
      weight: entries.weight(slot),
      vsize: entries.vsize(slot),
      sigopCost: entries.sigopCost(slot),
      time: entries.time(slot),
      height: entries.height(slot),
      unbroadcast: this.#unbroadcast.has(slot),
      replaced: this.#replaced.get(slot) ?? [],
    };
  }
}
