import type { RelayOptions } from '../policy/relay-options.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { MempoolTotals, RemovalReason } from './changes.ts';
import { TxGraph } from './cluster/tx-graph.ts';
import { Entries, type NewEntry } from './entries.ts';
import type { EntryColumns } from './entry-columns.ts';
import { parentsOf } from './relatives.ts';
import { RollingMinimumFee } from './rolling-minimum-fee.ts';
import type { UpdateProgress } from './update-progress.ts';

/** The way in which a transaction entered the mempool. */
export interface Arrival {
  /** Txids of the replaced transactions. */
  readonly replaced: readonly Txid[];
  /** Whether it comes from a disconnected block. */
  readonly reaccepted: boolean;
  /** Whether it was submitted to this node and did not come from a peer. */
  readonly local: boolean;
  /** Whether it was accepted as part of a package. */
  readonly inPackage: boolean;
}

/** Cause of a removal beyond its reason. */
export interface Departure {
  readonly replacedBy?: Txid;
  /** Block hash in hex, display order. */
  readonly blockHash?: string;
}

/** Observes all changes of the mempool in order. During `removed` the entry can still be read. */
export interface MempoolObserver {
  added(slot: number, parsed: ParsedTransaction, arrival: Arrival): void;
  removed(slot: number, reason: RemovalReason, departure: Departure): void;
  /** The prioritisation or the broadcast state of an entry changed. */
  modified(slot: number): void;
}

export interface MempoolDeps {
  readonly clock: Clock;
  readonly observer: MempoolObserver;
  readonly log?: Log;
  /** Set if other threads read the entries. */
  readonly progress?: UpdateProgress;
  /** The columns of the entries, which the other threads have as well. */
  readonly columns?: EntryColumns;
}

/**
 * The transactions that wait for a block. No two of them spend the same coin, and each spent coin is in the chain or an
 * output of another entry. `Acceptance` validates transactions before they are added.
 */
export class Mempool {
  readonly options: RelayOptions;
  readonly entries: Entries;
  readonly graph: TxGraph;
  readonly #clock: Clock;
  readonly #observer: MempoolObserver;
  readonly #log: Log | null;
  readonly #floor: RollingMinimumFee;
  /** Sum of the prioritisation deltas by txid, also for transactions that are not in the mempool. */
  readonly #deltas = new Map<string, number>();
  #changes = 0;
  #sequence = 1;
  /** Slots of submitted transactions that no peer has requested yet. */
  readonly #unbroadcast = new Set<number>();
  /** Lower bound of the entries' times, Unix seconds. */
  #oldest = Number.POSITIVE_INFINITY;
  /** Whether the saved transactions have been imported. */
  loaded = false;

  constructor(options: RelayOptions, deps: MempoolDeps) {
    this.options = options;
    this.#clock = deps.clock;
    this.#observer = deps.observer;
    this.#log = deps.log ?? null;
    const { progress, columns } = deps;
    this.entries = new Entries({ ...(progress && { progress }), ...(columns && { columns }) });
    this.graph = new TxGraph(options.clusterCount, options.clusterVsize * 4, (slot) => this.entries.isFree(slot));
    this.#floor = new RollingMinimumFee(Number(options.incrementalFeerate), unixSeconds(deps.clock));
  }

  /** Memory usage, bytes. */
  get usage(): number {
    return this.entries.totals.bytes;
  }

  /** Rolling minimum feerate after evictions, satoshis per 1,000 virtual bytes; 0 if nothing was evicted recently. */
  get fullFeerate(): number {
    return this.#floor.feerate(this.usage, this.options.maxMempoolBytes, unixSeconds(this.#clock));
  }

  /** Minimum feerate to enter the mempool, satoshis per 1,000 virtual bytes. */
  get minFeerate(): number {
    return Math.max(this.fullFeerate, Number(this.options.minRelayFeerate));
  }

  totals(): MempoolTotals {
    const { vsize, size, fee } = this.entries.totals;
    const { options } = this;
    return {
      count: this.entries.count,
      vsize,
      size,
      usage: this.usage,
      maxUsage: options.maxMempoolBytes,
      totalFee: fee,
      minFeerate: this.minFeerate,
      minRelayFeerate: Number(options.minRelayFeerate),
      incrementalFeerate: Number(options.incrementalFeerate),
      unbroadcast: this.#unbroadcast.size,
      sequence: this.#sequence,
      loaded: this.loaded,
    };
  }

  /** Core's mempool sequence number: that of the next transaction that enters or leaves other than with a block. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Counter of all changes that may affect a block template. */
  get changes(): number {
    return this.#changes;
  }

  /** Adds a transaction whose slot is in the graph. */
  insert(slot: number, entry: NewEntry, arrival: Arrival): void {
    this.#changes++;
    this.#sequence++;
    this.entries.add(slot, entry);
    this.#oldest = Math.min(this.#oldest, entry.time);
    if (arrival.local) this.#unbroadcast.add(slot);
    this.#observer.added(slot, entry.parsed, arrival);
  }

  /** Removes one transaction. Transactions that spend its outputs must be removed too, unless it was confirmed. */
  remove(slot: number, reason: RemovalReason, departure: Departure = {}): void {
    this.removeUnlinked(slot, reason, departure);
    this.graph.remove(slot);
  }

  /** Removes a transaction that is no longer in the graph. */
  removeUnlinked(slot: number, reason: RemovalReason, departure: Departure): void {
    this.#changes++;
    if (reason !== 'block') this.#sequence++;
    this.#observer.removed(slot, reason, departure);
    if (this.#unbroadcast.delete(slot))
      this.#log?.debug('unbroadcast transaction removed', { txid: hashToHex(this.entries.txid(slot)) });
    this.entries.remove(slot);
  }

  /** Removes transactions with all their descendants. */
  removeRecursive(slots: readonly number[], reason: RemovalReason, departure: Departure = {}): void {
    const all = new Set<number>();
    for (const slot of slots) if (!all.has(slot)) for (const found of this.graph.descendants(slot)) all.add(found);
    for (const slot of all) this.remove(slot, reason, departure);
  }

  /** Whether there are no entries and no fee deltas, so that a block cannot change anything. */
  get isEmpty(): boolean {
    return this.entries.count === 0 && this.#deltas.size === 0;
  }

  /** Processes a connected block. Must be called for each block, even if it removes nothing. */
  onBlockConnected(): void {
    this.#floor.onBlockConnected(unixSeconds(this.#clock));
  }

  /** Removes the transactions of a connected block and those that conflict with them. */
  removeForBlock(txs: readonly ParsedTransaction[], blockHash: string): void {
    for (const { txid, tx } of txs) {
      const slot = this.entries.find(txid);
      if (slot >= 0) this.remove(slot, 'block', { blockHash });
      else if (this.entries.count > 0) this.#removeConflicts(tx.inputs, txid);
      this.#deltas.delete(hashToHex(txid));
    }
    this.onBlockConnected();
  }

  /** Removes expired transactions, then the worst chunks until the memory limit is met. */
  limit(): void {
    this.#expire();
    let count = 0;
    while (this.entries.count > 0 && this.usage > this.options.maxMempoolBytes) {
      const { slots, fee, size } = this.graph.worstChunk()!;
      this.#floor.recordEviction(fee, Math.ceil(size / 4));
      for (const slot of slots) this.remove(slot, 'sizelimit');
      count += slots.length;
    }
    if (count > 0) this.#log?.debug('transactions evicted', { count, feerate: this.fullFeerate });
  }

  /** Returns the prioritisation delta of a transaction in satoshis, whether or not it is in the mempool. */
  feeDelta(txid: Uint8Array): number {
    return this.#deltas.get(hashToHex(txid)) ?? 0;
  }

  /** Adds a prioritisation delta in satoshis to a transaction. */
  prioritise(txid: Uint8Array, delta: number): void {
    const key = hashToHex(txid);
    const sum = (this.#deltas.get(key) ?? 0) + delta;
    if (sum === 0) this.#deltas.delete(key);
    else this.#deltas.set(key, sum);
    this.#changes++;
    const slot = this.entries.find(txid);
    if (slot < 0) return;
    this.entries.setFeeDelta(slot, sum);
    this.graph.setFee(slot, this.entries.modifiedFee(slot));
    this.#observer.modified(slot);
  }

  /** Prioritisation deltas in satoshis by txid in hex. */
  get feeDeltas(): ReadonlyMap<string, number> {
    return this.#deltas;
  }

  /** Slots of submitted transactions that no peer has requested yet. */
  get unbroadcast(): ReadonlySet<number> {
    return this.#unbroadcast;
  }

  isUnbroadcast(slot: number): boolean {
    return this.#unbroadcast.has(slot);
  }

  /** Marks a transaction as not yet requested by any peer, as after a restart. */
  addUnbroadcast(txid: Uint8Array): void {
    const slot = this.entries.find(txid);
    if (slot < 0) return;
    this.#unbroadcast.add(slot);
    this.#observer.modified(slot);
  }

  /** Records that a peer requested a transaction. */
  removeUnbroadcast(txid: Uint8Array): void {
    const slot = this.entries.find(txid);
    if (!this.#unbroadcast.delete(slot)) return;
    this.#log?.debug('transaction was requested by a peer', { txid: hashToHex(txid as Txid) });
    this.#observer.modified(slot);
  }

  /** Returns the slots of the parents in the mempool. */
  parents(slot: number): number[] {
    return parentsOf(this.entries, slot);
  }

  /** Returns the slots of the children in the mempool. */
  children(txid: Txid, outputs: number): number[] {
    const children = new Set<number>();
    for (let vout = 0; vout < outputs; vout++) {
      const child = this.entries.spender({ txid, vout });
      if (child >= 0) children.add(child);
    }
    return [...children];
  }

  #removeConflicts(inputs: ParsedTransaction['tx']['inputs'], txid: Txid): void {
    for (const { prevout } of inputs) {
      const slot = this.entries.spender(prevout);
      if (slot < 0) continue;
      this.#deltas.delete(hashToHex(this.entries.txid(slot)));
      this.removeRecursive([slot], 'conflict', { replacedBy: txid });
    }
  }

  /** Scans all entries only if the oldest may have expired. */
  #expire(): void {
    const cutoff = unixSeconds(this.#clock) - this.options.expirySeconds;
    if (this.#oldest >= cutoff) return;
    const expired: number[] = [];
    let oldest = Number.POSITIVE_INFINITY;
    for (const slot of this.entries.slots()) {
      const time = this.entries.time(slot);
      if (time < cutoff) expired.push(slot);
      else oldest = Math.min(oldest, time);
    }
    this.#oldest = oldest;
    this.removeRecursive(expired, 'expiry');
  }
}
