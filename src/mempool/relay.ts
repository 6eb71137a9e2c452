import type { TxRejection } from '../consensus/rejection.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import type { Txid, Wtxid } from '../primitives/hash.ts';
import type { AcceptResult, PackageResult } from './accept-result.ts';
import { miningOrder } from './cluster/mining-order.ts';
import type { Mempool } from './pool.ts';
import type { Acceptance } from './validation/acceptance.ts';
import type { PackageAcceptance } from './validation/package-acceptance.ts';
import { ValidationQueue, type ValidationQueueDeps, type ValidationQueueLimits } from './validation-queue.ts';

/** The properties of a transaction that decide about its announcement to peers. */
export interface RelayFacts {
  readonly txid: Txid;
  readonly wtxid: Wtxid;
  /** Base fee in satoshis without prioritisation, and virtual bytes. */
  readonly fee: number;
  readonly vsize: number;
  /** Size of the serialization with witness, bytes. */
  readonly size: number;
  /** Unix seconds. */
  readonly enteredAt: number;
  /**
   * Arrival number. It is below an earlier value of `nextSequence` if the transaction was in the mempool at that time,
   * or came back later from a disconnected block.
   */
  readonly sequence: number;
}

export interface RelayTransaction extends RelayFacts {
  /** A copy of the serialization with witness. */
  readonly raw: Uint8Array;
}

/** Announces a transaction to peers; returns the number of peers. */
export type Announcer = (tx: { readonly txid: Txid; readonly wtxid: Wtxid }) => number;

export interface MempoolRelayDeps extends ValidationQueueDeps {
  readonly mempool: Mempool;
  readonly acceptance: Acceptance;
  readonly packages: PackageAcceptance;
}

/** The mempool as the p2p code uses it. */
export class MempoolRelay {
  readonly #mempool: Mempool;
  readonly #acceptance: Acceptance;
  readonly #packages: PackageAcceptance;
  readonly #queue: ValidationQueue;
  #announcer: Announcer | null = null;
  #rejectionObserver: ((rejection: TxRejection) => void) | null = null;

  constructor({ mempool, acceptance, packages, ...deps }: MempoolRelayDeps, limits?: ValidationQueueLimits) {
    this.#mempool = mempool;
    this.#acceptance = acceptance;
    this.#packages = packages;
    this.#queue = new ValidationQueue(deps, limits);
  }

  /**
   * Validates a transaction of a peer and adds it if valid. Resolves with null if the queue is full and the transaction
   * is dropped. Rejects if the chain has stopped.
   */
  acceptTransaction(parsed: ParsedTransaction): Promise<AcceptResult | null> {
    return this.#queue.enqueue(parsed.raw.length, () => this.#reportRejection(this.#acceptance.accept(parsed)));
  }

  /** Validates a parent and a child that may pay for it, with the same conditions as `accept`. */
  acceptPackage(txs: readonly ParsedTransaction[]): Promise<PackageResult | null> {
    const bytes = txs.reduce((sum, { raw }) => sum + raw.length, 0);
    return this.#queue.enqueue(bytes, () => {
      const result = this.#packages.accept(txs);
      for (const one of result.results.values()) this.#reportRejection(one);
      return result;
    });
  }

  /** Sets the observer of rejections of transactions from peers. */
  observeRejections(listener: (rejection: TxRejection) => void): void {
    this.#rejectionObserver = listener;
  }

  #reportRejection(result: AcceptResult): AcceptResult {
    if (result.status === 'rejected') this.#rejectionObserver?.(result.rejection);
    return result;
  }

  hasTxid(txid: Uint8Array): boolean {
    return this.#mempool.entries.find(txid) >= 0;
  }

  hasWtxid(wtxid: Uint8Array): boolean {
    return this.#mempool.entries.findWtxid(wtxid) >= 0;
  }

  transaction(id: Uint8Array, by: 'txid' | 'wtxid'): RelayTransaction | null {
    const { entries } = this.#mempool;
    const slot = this.#find(id, by);
    return slot < 0 ? null : { ...this.#facts(slot), raw: entries.raw(slot).slice() };
  }

  /** The arrival number of the next transaction, higher than those of all entries. */
  get nextSequence(): number {
    return this.#mempool.entries.nextOrder;
  }

  /**
   * Returns the entries among the ids in announcement order: parents before children, higher feerates first. The order
   * does not reveal arrival times.
   */
  inAnnouncementOrder(ids: Iterable<Uint8Array>, by: 'txid' | 'wtxid'): RelayFacts[] {
    const { graph } = this.#mempool;
    const slots: number[] = [];
    for (const id of ids) {
      const slot = this.#find(id, by);
      if (slot >= 0) slots.push(slot);
    }
    return miningOrder(graph, slots).map((slot) => this.#facts(slot));
  }

  /** Yields all entries, unordered. The mempool must not change during the iteration. */
  *transactions(): Generator<RelayFacts> {
    for (const slot of this.#mempool.entries.slots()) yield this.#facts(slot);
  }

  /**
   * Yields views of all transactions for the reconstruction of compact blocks. The mempool must not change during the
   * iteration.
   */
  *candidates(): Generator<{ readonly wtxid: Wtxid; readonly raw: Uint8Array }> {
    const { entries } = this.#mempool;
    for (const slot of entries.slots()) yield { wtxid: entries.wtxid(slot), raw: entries.raw(slot) };
  }

  /** Returns submitted transactions that no peer has requested yet, to be announced again. */
  unbroadcast(): RelayFacts[] {
    const { unbroadcast } = this.#mempool;
    return Array.from(unbroadcast, (slot) => this.#facts(slot));
  }

  /** Records that a peer requested a transaction, which therefore is broadcast. */
  markRequested(txid: Uint8Array): void {
    this.#mempool.removeUnbroadcast(txid);
  }

  /** Sets the function that announces submitted transactions to peers; null removes it. */
  setAnnouncer(announcer: Announcer | null): void {
    this.#announcer = announcer;
  }

  /** Announces a transaction of the mempool to peers; returns the number of peers. */
  announce(txid: Uint8Array): number {
    const slot = this.#mempool.entries.find(txid);
    return slot < 0 || !this.#announcer ? 0 : this.#announcer(this.#facts(slot));
  }

  #find(id: Uint8Array, by: 'txid' | 'wtxid'): number {
    const { entries } = this.#mempool;
    return by === 'wtxid' ? entries.findWtxid(id) : entries.find(id);
  }

  #facts(slot: number): RelayFacts {
    const { entries } = this.#mempool;
    return {
      txid: entries.txid(slot).slice() as Txid,
      wtxid: entries.wtxid(slot).slice() as Wtxid,
      fee: entries.fee(slot),
      vsize: entries.vsize(slot),
      size: entries.size(slot),
      enteredAt: entries.time(slot),
      sequence: entries.order(slot),
    };
  }
}
