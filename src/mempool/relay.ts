import type { TxRejection } from '../consensus/rejection.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { hashFromHex, type Txid, type Wtxid } from '../primitives/hash.ts';
import { miningOrder } from './cluster/mining-order.ts';
import type { Mempool } from './pool.ts';
import { RelayTurns, type RelayTurnsDeps, type RelayTurnsLimits } from './relay-turns.ts';
import type { AcceptResult, PackageResult } from './result.ts';
import type { Acceptance } from './validation/acceptance.ts';
import type { PackageAcceptance } from './validation/package-acceptance.ts';

/** What decides whether a peer is told of a transaction. */
export interface RelayFacts {
  readonly txid: Txid;
  readonly wtxid: Wtxid;
  /** Satoshis, without prioritisation, and virtual bytes. */
  readonly fee: number;
  readonly vsize: number;
  /** Unix seconds. */
  readonly enteredAt: number;
  /**
   * Its place in the order of arrival; below `nextSequence` of a moment when it was there at that moment, or when it came
   * back later from a block that left the chain.
   */
  readonly sequence: number;
}

export interface RelayTransaction extends RelayFacts {
  /** With witness; bytes of its own. */
  readonly raw: Uint8Array;
}

/** Tells peers of a transaction of ours; returns how many will be told. */
export type Announcer = (tx: { readonly txid: Txid; readonly wtxid: Wtxid }) => number;

export interface MempoolRelayDeps extends RelayTurnsDeps {
  readonly mempool: Mempool;
  readonly acceptance: Acceptance;
  readonly packages: PackageAcceptance;
}

/** The mempool as those see it who talk to peers. */
export class MempoolRelay {
  readonly #mempool: Mempool;
  readonly #acceptance: Acceptance;
  readonly #packages: PackageAcceptance;
  readonly #turns: RelayTurns;
  #announcer: Announcer | null = null;
  #toldRejections: ((rejection: TxRejection) => void) | null = null;

  constructor({ mempool, acceptance, packages, ...deps }: MempoolRelayDeps, limits?: RelayTurnsLimits) {
    this.#mempool = mempool;
    this.#acceptance = acceptance;
    this.#packages = packages;
    this.#turns = new RelayTurns(deps, limits);
  }

  /**
   * Judges a transaction of a peer, and takes it in where it is good. Null where too many wait to be judged: it is as if
   * it had not come. Rejects when the chain takes no more.
   */
  accept(parsed: ParsedTransaction): Promise<AcceptResult | null> {
    return this.#turns.add(parsed.raw.length, () => this.#judged(this.#acceptance.accept(parsed)));
  }

  /** The same with a parent and its child, which may pay for it. */
  acceptPackage(txs: readonly ParsedTransaction[]): Promise<PackageResult | null> {
    const bytes = txs.reduce((sum, { raw }) => sum + raw.length, 0);
    return this.#turns.add(bytes, () => {
      const result = this.#packages.accept(txs);
      for (const one of result.results.values()) this.#judged(one);
      return result;
    });
  }

  /** Tells from now on why something that a peer sent was not taken. */
  tellRejections(listener: (rejection: TxRejection) => void): void {
    this.#toldRejections = listener;
  }

  #judged(result: AcceptResult): AcceptResult {
    if (result.status === 'rejected') this.#toldRejections?.(result.rejection);
    return result;
  }

  hasTxid(txid: Uint8Array): boolean {
    return this.#mempool.entries.find(txid) >= 0;
  }

  hasWtxid(wtxid: Uint8Array): boolean {
    return this.#mempool.entries.findWtxid(wtxid) >= 0;
  }

  get(id: Uint8Array, by: 'txid' | 'wtxid'): RelayTransaction | null {
    const { entries } = this.#mempool;
    const slot = this.#find(id, by);
    return slot < 0 ? null : { ...this.#facts(slot), raw: entries.raw(slot).slice() };
  }

  /** What the next transaction gets for its sequence: all that are here now have a lower one. */
  get nextSequence(): number {
    return this.#mempool.entries.nextOrder;
  }

  /**
   * Those that are still here, in the order in which they are to be announced: parents before children, the better paid
   * first. That order says nothing of when they came.
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

  /** All, in no order; the mempool must not change meanwhile. */
  *all(): Generator<RelayFacts> {
    for (const slot of this.#mempool.entries.slots()) yield this.#facts(slot);
  }

  /** The bytes of all, to put a compact block together: views, and nothing may change meanwhile. */
  *candidates(): Generator<{ readonly wtxid: Wtxid; readonly raw: Uint8Array }> {
    const { entries } = this.#mempool;
    for (const slot of entries.slots()) yield { wtxid: entries.wtxid(slot), raw: entries.raw(slot) };
  }

  /** Ours that no peer has asked for yet: to be announced again from time to time. */
  unbroadcast(): RelayFacts[] {
    const { entries, unbroadcast } = this.#mempool;
    return Array.from(unbroadcast, (txid) => this.#facts(entries.find(hashFromHex<Txid>(txid))));
  }

  /** A peer has asked for it, so it is out. */
  requested(txid: Uint8Array): void {
    this.#mempool.removeUnbroadcast(txid);
  }

  /** Who tells peers of what is handed in here. */
  announceThrough(announcer: Announcer | null): void {
    this.#announcer = announcer;
  }

  /** Tells peers of a transaction of the mempool; returns how many will be told. */
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
      enteredAt: entries.time(slot),
      sequence: entries.order(slot),
    };
  }
}
