import type { RelayOptions } from '../policy/relay-options.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { MempoolTotals, RemovalReason } from './changes.ts';
import { TxGraph } from './cluster/tx-graph.ts';
import { Entries, type NewEntry } from './entries.ts';
import { parentsOf } from './relatives.ts';
import { RollingMinimumFee } from './rolling-minimum-fee.ts';

/** How a transaction came in, for those who are told. */
export interface Arrival {
  /** Those it took the place of. */
  readonly replaced: readonly Txid[];
  /** A reorg took its block out of the chain. */
  readonly reaccepted: boolean;
  /** It was handed in here, not by a peer. */
  readonly local: boolean;
  /** It was judged together with others. */
  readonly inPackage: boolean;
}

/** What made a transaction leave, as far as its reason does not say it. */
export interface Departure {
  readonly replacedBy?: Txid;
  /** Hex, display order. */
  readonly blockHash?: string;
}

/** Is told of every step, in order; a slot's facts can still be read while it is told of its removal. */
export interface MempoolObserver {
  added(slot: number, parsed: ParsedTransaction, arrival: Arrival): void;
  removed(slot: number, reason: RemovalReason, departure: Departure): void;
  /** Prioritised, or heard of by a peer. */
  modified(slot: number): void;
}

/**
 * Transactions that wait for a block: no two of them spend the same coin, and what one of them spends is in the chain
 * or made by another of them. What gets in is for `Acceptance` to judge.
 */
export class Mempool {
  readonly options: RelayOptions;
  readonly entries = new Entries();
  readonly graph: TxGraph;
  readonly #clock: Clock;
  readonly #observer: MempoolObserver;
  readonly #floor: RollingMinimumFee;
  /** What `prioritise` added, by txid, for transactions that may come yet as well. */
  readonly #deltas = new Map<string, number>();
  #changes = 0;
  /** Ours, and not asked for by any peer yet. */
  readonly #unbroadcast = new Set<string>();
  /** No entry is older, Unix seconds. */
  #oldest = Number.POSITIVE_INFINITY;
  /** Saved transactions have been read back, or there were none. */
  loaded = false;

  constructor(options: RelayOptions, deps: { readonly clock: Clock; readonly observer: MempoolObserver }) {
    this.options = options;
    this.#clock = deps.clock;
    this.#observer = deps.observer;
    this.graph = new TxGraph(options.clusterCount, options.clusterVsize * 4);
    this.#floor = new RollingMinimumFee(Number(options.incrementalFeerate), unixSeconds(deps.clock));
  }

  /** Bytes of memory. */
  get usage(): number {
    return this.entries.totals.bytes;
  }

  /** Satoshis per 1,000 virtual bytes below which nothing enters because the mempool was full; 0 while it was not. */
  get fullFeerate(): number {
    return this.#floor.feerate(this.usage, this.options.maxMempoolBytes, unixSeconds(this.#clock));
  }

  /** Satoshis per 1,000 virtual bytes that a transaction has to pay to enter. */
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
      loaded: this.loaded,
    };
  }

  /** Grows with everything that could change the best block. */
  get changes(): number {
    return this.#changes;
  }

  /** Takes in a transaction whose slot the graph knows. */
  insert(slot: number, entry: NewEntry, arrival: Arrival): void {
    this.#changes++;
    this.entries.add(slot, entry);
    this.#oldest = Math.min(this.#oldest, entry.time);
    if (arrival.local) this.#unbroadcast.add(hashToHex(entry.parsed.txid));
    this.#observer.added(slot, entry.parsed, arrival);
  }

  /** Takes out one transaction; what spends its outputs must go too, or be about to be linked to the chain. */
  remove(slot: number, reason: RemovalReason, departure: Departure = {}): void {
    this.forget(slot, reason, departure);
    this.graph.remove(slot);
  }

  /** The same where the graph has dropped it already. */
  forget(slot: number, reason: RemovalReason, departure: Departure): void {
    this.#changes++;
    this.#observer.removed(slot, reason, departure);
    this.#unbroadcast.delete(hashToHex(this.entries.txid(slot)));
    this.entries.remove(slot);
  }

  /** Takes out transactions with all that descends from them. */
  removeRecursive(slots: readonly number[], reason: RemovalReason, departure: Departure = {}): void {
    const all = new Set<number>();
    for (const slot of slots) if (!all.has(slot)) for (const found of this.graph.descendants(slot)) all.add(found);
    for (const slot of all) this.remove(slot, reason, departure);
  }

  /** Nothing that a block does could matter here, but that there was one. */
  get isUntouchable(): boolean {
    return this.entries.count === 0 && this.#deltas.size === 0;
  }

  /** A block has joined the chain; it is called for each, also where nothing could be removed. */
  blockArrived(): void {
    this.#floor.blockArrived(unixSeconds(this.#clock));
  }

  /** A block has joined the chain: its transactions leave, and what they contradict. */
  removeForBlock(txs: readonly ParsedTransaction[], blockHash: string): void {
    for (const { txid, tx } of txs) {
      const slot = this.entries.find(txid);
      if (slot >= 0) this.remove(slot, 'block', { blockHash });
      else if (this.entries.count > 0) this.#removeConflicts(tx.inputs, txid);
      this.#deltas.delete(hashToHex(txid));
    }
    this.blockArrived();
  }

  /** Drops what has waited too long, then the worst until the rest fits. */
  limit(): void {
    this.#expire();
    while (this.entries.count > 0 && this.usage > this.options.maxMempoolBytes) {
      const { slots, fee, size } = this.graph.worstChunk()!;
      this.#floor.dropped(fee, Math.ceil(size / 4));
      for (const slot of slots) this.remove(slot, 'sizelimit');
    }
  }

  /** What was added to the fee of a transaction, here or not, in satoshis. */
  feeDelta(txid: Uint8Array): number {
    return this.#deltas.get(hashToHex(txid)) ?? 0;
  }

  /** Treats a transaction as if it paid so many satoshis more; adds up. */
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

  /** Transactions that were prioritised: txid in hex, and satoshis. */
  get feeDeltas(): ReadonlyMap<string, number> {
    return this.#deltas;
  }

  /** Transactions of ours that no peer has asked for yet: txid in hex, display order. */
  get unbroadcast(): ReadonlySet<string> {
    return this.#unbroadcast;
  }

  isUnbroadcast(slot: number): boolean {
    return this.#unbroadcast.has(hashToHex(this.entries.txid(slot)));
  }

  /** Marks a transaction as still to be announced, as after a restart. */
  addUnbroadcast(txid: Uint8Array): void {
    const slot = this.entries.find(txid);
    if (slot < 0) return;
    this.#unbroadcast.add(hashToHex(txid));
    this.#observer.modified(slot);
  }

  /** A peer has asked for it. */
  removeUnbroadcast(txid: Uint8Array): void {
    const slot = this.entries.find(txid);
    if (this.#unbroadcast.delete(hashToHex(txid)) && slot >= 0) this.#observer.modified(slot);
  }

  /** In the mempool: the transactions that make the coins this one spends. */
  parents(slot: number): number[] {
    return parentsOf(this.entries, slot);
  }

  /** In the mempool: the transactions that spend outputs of this one. */
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

  /** Looks through all only when the oldest has waited too long. */
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
