import type { ChainFollower, ChainMove } from '../chain/events.ts';
import type { ScriptVerifier } from '../chain/script-verifier.ts';
import type { SignatureEngine } from '../crypto/signature-engine.ts';
import { dustOutputs } from '../policy/dust.ts';
import type { RelayOptions } from '../policy/relay-options.ts';
import { STANDARD_SCRIPT_FLAGS } from '../policy/standard-inputs.ts';
import { type ParsedBlock, weightOf } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { FeeStore } from '../storage/fee-store.ts';
import type { MempoolStore } from '../storage/mempool-store.ts';
import { sleep } from '../util/abort.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { ChangeFeed } from './change-feed.ts';
import type { MempoolChange } from './changes.ts';
import { ClientSubmissions } from './client-submissions.ts';
import type { ChainView } from './coins-view.ts';
import type { EntryColumns } from './entry-columns.ts';
import { FeeEstimator } from './fees/fee-estimator.ts';
import { followChain } from './follow-chain.ts';
import { importMempool, type MempoolImportCounts, type MempoolImportOptions } from './mempool-import.ts';
import { Mempool, type MempoolObserver } from './pool.ts';
import { MempoolRelay } from './relay.ts';
import { SavedMempool } from './saved-mempool.ts';
import type { UpdateProgress } from './update-progress.ts';
import { Acceptance } from './validation/acceptance.ts';
import { PackageAcceptance } from './validation/package-acceptance.ts';

/** The chain as the mempool needs it. */
interface MempoolChain extends ChainView {
  readonly initialSync: boolean;
  readonly bestHeader: { readonly height: number };
  /** Runs work when the chain is settled. */
  whenSettled<T>(work: () => T): Promise<T>;
  nextSeq(): number;
}

export interface MempoolServiceDeps {
  readonly chain: MempoolChain;
  readonly engine: SignatureEngine;
  /** Verifies scripts of submitted transactions on other threads; on this one where it is absent. */
  readonly verifier?: ScriptVerifier;
  readonly store: MempoolStore;
  readonly fees: FeeStore;
  /** Accept a tip of any age, as on regtest. */
  readonly anyTip: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Receives changes in order, except those caused by a block, which `committed()` returns. */
  emit(changes: readonly MempoolChange[]): void;
  /** Called after transactions have been saved. */
  onSaved?(): void;
  /**
   * Backpressure: resolves when the receivers of changes can take more; null if they can now. Everything that adds
   * transactions waits for it; while a receiver hangs, memory would grow with each. Submissions of clients, whose number
   * in progress is limited, wait for a second at most.
   */
  backpressure?(): Promise<void> | null;
  /** Whether the mempool is saved, and restored at the start; true by default. */
  readonly persistent?: boolean;
  /** Set if other threads read the entries. */
  readonly progress?: UpdateProgress;
  /** The columns of the entries, which the other threads have as well. */
  readonly columns?: EntryColumns;
}

/** Prioritisation of a transaction. */
export interface Prioritised {
  /** Txid in hex, display order. */
  readonly txid: string;
  /** The delta in satoshis, and the fee including it if the transaction is in the mempool. */
  readonly delta: number;
  readonly modifiedFee: number | null;
}

/** Time for which a submission waits for the receivers of changes: one that hangs does not stop submissions. */
const SUBMISSION_WAIT_MS = 1000;
const SAVE_INTERVAL_MS = 5 * 60 * 1000;
/** Number of changes that are saved before the interval ends, so that few of them are held in memory. */
const SAVE_CHANGES = 50_000;
const REPORT_INTERVAL_MS = 10_000;
const MAX_TIP_AGE_SECONDS = 3 * 3600;

/**
 * The mempool as a part of the node: follows the chain, accepts transactions from clients and peers, numbers its
 * changes for observers, and persists across restarts.
 */
export class MempoolService implements ChainFollower {
  readonly mempool: Mempool;
  readonly acceptance: Acceptance;
  readonly packages: PackageAcceptance;
  /** Interface for the p2p code. */
  readonly relay: MempoolRelay;
  /** Interface for clients and wallets. */
  readonly submissions: ClientSubmissions;
  readonly #deps: MempoolServiceDeps;
  readonly #feed: ChangeFeed;
  readonly #saved: SavedMempool;
  readonly fees: FeeEstimator;
  readonly #timers: ReturnType<typeof setInterval>[];
  readonly #ending = new AbortController();
  #saving: Promise<void> = Promise.resolve();
  /** The save of the interval or of many changes; null while there is none. */
  #savingAll: Promise<unknown> | null = null;
  /** Whether the last save failed; only the timer tries again then. */
  #saveFailed = false;
  readonly #view: ChainView;
  /** The tip that is being committed; `chain.tip` is still the previous one. */
  #nextTip: ChainView['tip'] | null = null;

  constructor(options: RelayOptions, deps: MempoolServiceDeps) {
    this.#deps = deps;
    const { chain, clock, engine } = deps;
    const nextTip = () => this.#nextTip;
    this.#view = {
      get tip() {
        return nextTip() ?? chain.tip;
      },
      coin: (outpoint) => chain.coin(outpoint),
    };
    this.#saved = new SavedMempool(deps.store, deps.persistent ?? true);
    this.#feed = new ChangeFeed({
      clock,
      nextSeq: () => chain.nextSeq(),
      tip: () => ({ height: chain.tip.height, hash: hashToHex(chain.tip.hash) }),
      silent: () => chain.initialSync,
      emit: (changes) => deps.emit(changes),
    });
    const { progress, columns } = deps;
    this.mempool = new Mempool(options, {
      clock,
      observer: this.#observer(),
      log: deps.log,
      ...(progress && { progress }),
      ...(columns && { columns }),
    });
    this.#feed.observe(this.mempool);
    this.fees = new FeeEstimator({
      graph: this.mempool.graph,
      store: deps.fees,
      clock,
      log: deps.log,
      floor: () => this.mempool.minFeerate,
      ready: () => this.mempool.loaded && (deps.anyTip || !chain.initialSync),
      isCurrent: () => this.#isCurrent(),
      tip: () => chain.tip,
    });
    const validationDeps = { mempool: this.mempool, chain: this.#view, engine, clock };
    this.acceptance = new Acceptance(validationDeps);
    this.packages = new PackageAcceptance(validationDeps, this.acceptance);
    const { mempool, acceptance, packages } = this;
    this.relay = new MempoolRelay({
      mempool,
      acceptance,
      packages,
      settled: (work) => this.#withBackpressure(work),
      clock,
    });
    this.submissions = new ClientSubmissions({
      verifier: deps.verifier ?? null,
      chain: this.#view,
      mempool,
      acceptance,
      packages,
      relay: this.relay,
      settled: (work) => this.#withBackpressure(work, SUBMISSION_WAIT_MS),
    });
    // The first event shows that the mempool is not loaded yet.
    this.#feed.markTotalsChanged();
    this.#timers = [
      setInterval(() => this.#saveInBackground(), SAVE_INTERVAL_MS),
      setInterval(() => this.#reportFees(), REPORT_INTERVAL_MS),
    ];
  }

  /** Restores the saved transactions. The mempool counts as loaded afterwards. */
  async load(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    await this.#saved.load(this, { run: (work) => this.#withBackpressure(work), signal, clock, log });
    this.#feed.forceUpdate();
    this.#reportFees();
  }

  /**
   * Returns whether the scripts of a transaction were verified here with at least these flags, each of which only adds
   * rules.
   */
  hasChecked(wtxid: Uint8Array, flags: number): boolean {
    return (flags & ~STANDARD_SCRIPT_FLAGS) === 0 && this.mempool.entries.findWtxid(wtxid) >= 0;
  }

  has(txid: Uint8Array): boolean {
    return this.mempool.entries.find(txid) >= 0;
  }

  follow({ connected, disconnected, tip, settled, readBlock }: ChainMove): void {
    this.#feed.holdChanges();
    this.#nextTip = tip;
    const moved = {
      connected: connected.map((entry) => () => readBlock(entry)),
      disconnected: disconnected.map((entry) => () => readBlock(entry)),
      reaccept: settled && !this.#deps.chain.initialSync,
      // A block that a better chain replaces stays valid.
      invalidated: disconnected.at(-1)?.failed ?? false,
      joined: (index: number, block: ParsedBlock | null) =>
        this.fees.processBlock(connected[index]!, block && weightWithoutCoinbase(block)),
    };
    followChain(moved, { mempool: this.mempool, acceptance: this.acceptance, chain: this.#view });
  }

  /** The changes that wait for the commit of `follow`. */
  get waitingChanges(): readonly MempoolChange[] {
    return this.#feed.waitingChanges;
  }

  /** Called when the commit of `follow` is written. Returns all changes up to it. */
  committed(): readonly MempoolChange[] {
    this.#nextTip = null;
    if (!this.#deps.chain.initialSync) this.#reportFees();
    return this.#feed.drainChanges({ afterBlock: !this.#deps.chain.initialSync });
  }

  /** Sends a `mempoolUpdate` as soon as one is due. */
  announceTotals(): void {
    this.#feed.markTotalsChanged();
  }

  /** Number of the event of the oldest transaction that is not saved; 0 if all are. A kill removes these. */
  get unsavedFrom(): number {
    return this.#saved.unsavedFrom;
  }

  /** Records transactions abandoned by a wallet, in sequence with the changes of the mempool. */
  addAbandoned(wallet: string, txids: readonly Uint8Array[]): void {
    for (const txid of txids) this.#feed.addEvent('walletAbandoned', { wallet, txid: hashToHex(txid) });
    this.#feed.flush();
  }

  /** Runs work on the mempool and emits its changes before the result is returned. */
  #settled<T>(work: () => T): Promise<T> {
    return this.#deps.chain.whenSettled(() => {
      const result = work();
      this.#feed.flush();
      return result;
    });
  }

  /** Runs work on the mempool with backpressure; it waits for at most `limitMs`, or until the readers are done. */
  async #withBackpressure<T>(work: () => T, limitMs: number | null = null): Promise<T> {
    const room = this.#deps.backpressure?.();
    if (room) await (limitMs === null ? room : Promise.race([room, sleep(limitMs, this.#ending.signal)]));
    return this.#settled(work);
  }

  /** Imports a `mempool.dat` of Bitcoin Core. Throws DecodeError if the file is invalid or truncated. */
  import(path: string, options: MempoolImportOptions, signal: AbortSignal): Promise<MempoolImportCounts> {
    const { mempool, acceptance } = this;
    const { clock } = this.#deps;
    return importMempool(path, options, {
      mempool,
      acceptance,
      clock,
      signal,
      run: (work) => this.#withBackpressure(work),
    });
  }

  /** Adds a prioritisation delta in satoshis. Returns false for a transaction with dust, which must not have a fee. */
  prioritise(txid: Uint8Array, delta: number): Promise<boolean> {
    const { mempool } = this;
    return this.#settled(() => {
      const slot = mempool.entries.find(txid);
      const { requireStandard, dustFeerate } = mempool.options;
      const dusty =
        slot >= 0 && requireStandard && dustOutputs(mempool.entries.parsed(slot).tx, dustFeerate).length > 0;
      if (!dusty) mempool.prioritise(txid, delta);
      return !dusty;
    });
  }

  /** Returns all prioritised transactions, whether or not they are in the mempool. */
  prioritised(): Prioritised[] {
    const { entries, feeDeltas } = this.mempool;
    return Array.from(feeDeltas, ([txid, delta]) => {
      const slot = entries.find(Uint8Array.fromHex(txid).reverse());
      return { txid, delta, modifiedFee: slot < 0 ? null : entries.modifiedFee(slot) };
    });
  }

  /** Saves all changes; returns the path of the database. Rejects if the storage fails. */
  async save(): Promise<string> {
    // Saves run one after the other, so each includes everything from before its call.
    const saving = this.#saving.catch(() => {}).then(() => this.#saved.save(this.mempool, this.#ending.signal));
    this.#saving = saving;
    await saving;
    this.#deps.onSaved?.();
    this.fees.save();
    return this.#deps.store.path;
  }

  #saveInBackground(): void {
    if (this.#deps.persistent === false) return;
    this.#savingAll ??= this.save()
      .then(() => {
        this.#saveFailed = false;
      })
      .catch((error) => {
        this.#saveFailed = true;
        if (!this.#ending.signal.aborted) this.#logSaveError(error);
      })
      .then(() => {
        this.#savingAll = null;
      });
  }

  /** Saves the mempool and stops all timers. */
  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#ending.abort(new Error('the node stops'));
    this.#feed.close();
    this.fees.flushUnconfirmed();
    try {
      if (this.#deps.persistent !== false) this.#saved.saveNow(this.mempool);
      this.fees.save();
    } catch (error) {
      this.#logSaveError(error);
    }
  }

  #reportFees(): void {
    const report = this.fees.report();
    if (report) this.#feed.addFeeReport(report);
  }

  /** Confirmation times are meaningful only if the tip is recent (as in Core). */
  #isCurrent(): boolean {
    const { chain, clock } = this.#deps;
    const { tip } = this.#view;
    return (
      !chain.initialSync &&
      unixSeconds(clock) - tip.time <= MAX_TIP_AGE_SECONDS &&
      tip.height >= chain.bestHeader.height - 1
    );
  }

  /** Returns the observer that forwards changes to persistence, events and fee estimation. */
  #observer(): MempoolObserver {
    const entries = () => this.mempool.entries;
    return {
      added: (slot, parsed, arrival) => {
        const seq = this.#feed.added(slot, parsed, arrival);
        this.#saved.recordArrival(parsed.txid, seq);
        if (this.#saved.pending >= SAVE_CHANGES && !this.#saveFailed) this.#saveInBackground();
        const countable = !arrival.reaccepted && !arrival.inPackage && this.mempool.parents(slot).length === 0;
        this.fees.addTransaction(slot, entries().fee(slot), entries().vsize(slot), entries().height(slot), countable);
      },
      removed: (slot, reason, departure) => {
        this.#saved.recordRemoval(entries().txid(slot));
        this.#feed.removed(slot, reason, departure);
        if (reason === 'block')
          this.fees.recordIncluded(slot, entries().fee(slot), entries().vsize(slot), entries().weight(slot));
        else this.fees.removeTransaction(slot);
      },
      modified: (slot) => {
        this.#saved.recordChange(entries().txid(slot));
        this.#feed.modified(slot);
      },
    };
  }

  /** Logged only: the transactions would come back from peers. */
  #logSaveError(error: unknown): void {
    this.#deps.log.error('saving the mempool failed', { error });
  }
}

function weightWithoutCoinbase({ txs }: ParsedBlock): number {
  return txs.reduce((sum, tx, index) => (index === 0 ? 0 : sum + weightOf(tx)), 0);
}
