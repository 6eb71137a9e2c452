import type { AssumedUtxoSet } from '../params/assume-utxo.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { coinsOfRuns } from '../storage/coin-store.ts';
import { isDamage } from '../storage/database.ts';
import { BACKGROUND_COINS } from '../storage/runs/run-family.ts';
import type { UnlistedRun } from '../storage/runs/run-store.ts';
import { encodeSetElement, setHasher } from '../storage/utxo-hash.ts';
import { ByteWriter, DecodeError, equalBytes } from '../util/bytes.ts';
import { diskProblem } from '../util/disk-problem.ts';
import { OperatorError } from '../util/operator-error.ts';
import { noteProgress } from '../util/progress.ts';
import { QueueClosing } from '../util/serial-queue.ts';
import { BackgroundChain } from './background-chain.ts';
import type { BestChain, BestChainDeps } from './best-chain.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainAt } from './loaded-set-writer.ts';

/** Share of the coins cache that the background chain has in addition. */
export const BACKGROUND_CACHE_SHARE = 0.25;
/** Time slice of the comparison before it yields, milliseconds. */
const SLICE_MS = 8;
const LOG_INTERVAL_MS = 30_000;

export interface LoadedUtxoSetDeps extends BestChainDeps {
  readonly best: BestChain;
  readonly network: NetworkParams;
  readonly coinsCacheBytes: number;
}

/** A UTXO set in a run that is not listed yet. */
export interface SetToActivate {
  readonly baseHash: Uint8Array;
  readonly run: UnlistedRun;
  /** The set's hash_serialized_3, wire order. */
  readonly hash: Uint8Array;
  /** Value of all coins, satoshis. */
  readonly value: number;
  readonly coins: number;
}

/** A base that may be loaded. */
export interface LoadableBase {
  readonly entry: ChainEntry;
  readonly set: AssumedUtxoSet;
}

/**
 * The UTXO set that an operator has loaded, and the validation behind it: `activate` makes it the coins of the active
 * chain, and the background chain then validates all blocks up to its base. There the coins of the background chain
 * must equal the set; otherwise the set is removed and block processing stops. When the background chain has reached
 * the tip, its coins replace those of the active chain.
 */
export class LoadedUtxoSet {
  readonly #deps: LoadedUtxoSetDeps;
  #background: BackgroundChain | null = null;
  #scheduled = false;
  #comparing = false;
  #closed = false;
  #loggedAt = 0;

  constructor(deps: LoadedUtxoSetDeps) {
    this.#deps = deps;
  }

  /** The chain behind the set; null without one. */
  get background(): BackgroundChain | null {
    return this.#background;
  }

  /** Continues with the set that is stored. Throws OperatorError if its hash is not known, so that it cannot be compared. */
  open(): void {
    const { store, tree, log } = this.#deps;
    const stored = store.loadedSet.storedSet();
    if (stored === null) return;
    const base = tree.findEntry(stored.base)!;
    if (!stored.validated && this.#setOf(stored.base) === null)
      throw new OperatorError(
        `the UTXO set of height ${base.height} that was loaded is not known: start with the same chain.assumeUtxo as when it was loaded, or with a version that knows the set`,
        { isOfSettings: true },
      );
    this.#begin(base, { tip: tree.findEntry(stored.tip)!, totals: stored.totals }, stored.validated);
    log.info('validating the chain behind the loaded UTXO set', {
      base: base.height,
      height: this.#background!.tip.height,
    });
  }

  /** Returns the base of a set that may be loaded now, or the reason why it may not, in Core's words. */
  findBase(hash: Uint8Array): LoadableBase | string {
    const { tree, active } = this.#deps;
    const { assumedUtxoSets } = this.#deps.network;
    if (this.#background !== null) return "Can't activate a snapshot-based chainstate more than once";
    const set = this.#setOf(hash);
    const shown = hashToHex(hash);
    if (set === null)
      return `assumeutxo block hash in snapshot metadata not recognized (hash: ${shown}). The following snapshot heights are available: ${assumedUtxoSets.map(({ height }) => height).join(', ')}`;
    const entry = tree.findEntry(hash);
    if (entry === null)
      return `The base block header (${shown}) must appear in the headers chain. Make sure all headers are syncing, and call loadtxoutset again`;
    if (entry.failed) return `The base block header (${shown}) is part of an invalid chain`;
    if (tree.bestHeader.ancestor(entry.height) !== entry)
      return 'A forked headers-chain with more work than the chain with the snapshot base block header exists. Please proceed to sync without AssumeUtxo.';
    if (entry.chainwork <= active.tip.chainwork) return 'Population failed: Work does not exceed active chainstate';
    return { entry, set };
  }

  /**
   * Makes the set the coins of the active chain, in one durable transaction. Returns the reason for a refusal, or null.
   * Within a call of the chain's queue, when all blocks are committed.
   */
  activate({ baseHash, run, hash, value, coins }: SetToActivate): string | null {
    const { store, tree, active, committer, sync, warnings, log } = this.#deps;
    const found = this.findBase(baseHash);
    if (typeof found === 'string') return found;
    const { entry, set } = found;
    if (!equalBytes(hash, set.hash))
      return `Population failed: Bad snapshot content hash: expected ${hashToHex(set.hash)}, got ${hashToHex(hash)}`;
    const before = { tip: active.committedTip, totals: active.totals };
    try {
      store.loadedSet.activateSet(run, entry, { circulating: value, utxos: coins, txs: set.txs }, before);
    } catch (error) {
      // The transaction was rolled back, and nothing else has changed.
      const problem = diskProblem(error);
      if (problem === null) throw error;
      return `Population failed: ${problem}`;
    }
    tree.assumeComplete(entry);
    active.moveTo(entry);
    store.indexes.moveTip(entry);
    store.coinStats.moveTip(entry);
    store.filters?.moveTip(entry);
    this.#begin(entry, before, false);
    sync.update(entry);
    warnings.update(entry);
    log.info('UTXO set loaded', { base: entry.height, coins });
    committer.announceTip(entry);
    return null;
  }

  /** Continues the validation, unless that is under way or the next block is missing. */
  schedule(): void {
    const background = this.#background;
    if (background === null || this.#scheduled || this.#comparing || this.#closed) return;
    if (!background.validated && background.tip === background.base) {
      this.#comparing = true;
      void this.#compare(background).catch((error: unknown) => this.#onCompareFailed(error));
      return;
    }
    const mayAdopt = background.validated && background.tip === this.#deps.active.committedTip;
    if (!background.canAdvance && !mayAdopt) return;
    this.#scheduled = true;
    this.#deps.queue
      .run(() => this.#step(background))
      .then(
        () => {
          this.#scheduled = false;
          this.schedule();
        },
        // The queue is closing, or the error has stopped it.
        () => {},
      );
  }

  close(): void {
    this.#closed = true;
  }

  /** Returns the set of a block if this version or the configuration knows it; else null. */
  #setOf(hash: Uint8Array): AssumedUtxoSet | null {
    return this.#deps.network.assumedUtxoSets.find(({ blockHash }) => equalBytes(blockHash, hash)) ?? null;
  }

  #begin(base: ChainEntry, at: ChainAt, validated: boolean): void {
    const { store, tree, active, verifier, params, coinsCacheBytes } = this.#deps;
    const cacheBytes = Math.floor(coinsCacheBytes * BACKGROUND_CACHE_SHARE);
    const deps = { store, tree, active, verifier, params, cacheBytes };
    this.#background = new BackgroundChain(deps, base, at, validated);
    const limit = () => this.#background?.tip ?? null;
    store.indexes.setLimit(limit);
    store.coinStats.setLimit(limit);
    store.filters?.setLimit(limit);
  }

  async #step(background: BackgroundChain): Promise<void> {
    const { best, active, committer } = this.#deps;
    const before = background.tip;
    const wait = (results: Promise<void>) => best.waitForScripts(results, false);
    const failure = await background.advance(wait, () => best.verifyAndCommit());
    if (failure !== null) {
      const { entry, rejection } = failure;
      this.#removeSet(background, `block ${hashToHex(entry.hash)} at height ${entry.height}: ${rejection.reason}`);
    }
    if (background.tip !== before) {
      this.#logProgress(background);
      committer.announceProgress();
    }
    if (!background.validated || background.canAdvance) return;
    await best.verifyAndCommit();
    if (background.tip !== active.committedTip) return;
    this.#adopt();
    // Branches from below the base may be candidates now.
    await best.activateBestChain();
    await best.verifyAndCommit();
  }

  /** The background chain has reached the tip, and its coins replace those of the active chain. */
  #adopt(): void {
    const { store, tree, active, committer, log } = this.#deps;
    store.loadedSet.adoptBackground();
    active.moveTo(active.committedTip);
    tree.endAssumption();
    this.#background = null;
    log.info('the chain behind the loaded UTXO set is complete', { height: active.committedTip.height });
    committer.announceProgress();
  }

  /** Hashes the coins of the background chain at the base, and compares them with the loaded set. */
  async #compare(background: BackgroundChain): Promise<void> {
    const { store, queue, log } = this.#deps;
    const { base } = background;
    log.info('comparing the coins of the validated chain with the loaded UTXO set', { height: base.height });
    const hasher = setHasher('hash_serialized_3')!;
    const element = new ByteWriter(16_384);
    const runs = store.openRuns(BACKGROUND_COINS);
    try {
      let until = performance.now() + SLICE_MS;
      for (const coin of coinsOfRuns(runs)) {
        element.reset();
        encodeSetElement(element, coin);
        hasher.add(element.finish());
        if (performance.now() < until) continue;
        noteProgress();
        await new Promise(setImmediate);
        if (this.#closed) return;
        until = performance.now() + SLICE_MS;
      }
    } finally {
      for (const run of runs) run.close();
    }
    const hash = hasher.digest();
    const expected = this.#setOf(base.hash)!.hash;
    await queue
      .run(async () => {
        if (!equalBytes(hash, expected))
          this.#removeSet(background, `hash mismatch: actual=${hashToHex(hash)}, expected=${hashToHex(expected)}`);
        store.loadedSet.markValidated();
        background.validated = true;
        log.info('the loaded UTXO set is validated', { base: base.height, hash: hashToHex(base.hash as BlockHash) });
        this.#deps.committer.announceProgress();
      })
      .catch((error: unknown) => {
        if (!(error instanceof QueueClosing)) throw error;
      });
    this.#comparing = false;
    this.schedule();
  }

  /** Damage of the coins stops block processing, as it does where blocks are connected; another failure may pass. */
  #onCompareFailed(error: unknown): void {
    const { queue, log } = this.#deps;
    if (this.#closed || queue.stopped !== null) return;
    if (error instanceof DecodeError || isDamage(error)) {
      queue.run(() => Promise.reject(error)).catch(() => {});
      return;
    }
    log.error('the coins of the validated chain cannot be read; the next block tries the comparison again', { error });
    this.#comparing = false;
  }

  /** Removes the set and stops block processing; the next start continues from the validated chain. */
  #removeSet(background: BackgroundChain, reason: string): never {
    const { store, active } = this.#deps;
    const { tip } = background;
    store.loadedSet.removeSet(tip);
    throw new Error(
      `the loaded UTXO set is not that of the validated chain (${reason}): a hardware problem, a bug, or a modified program. ` +
        `The set and all that was built on it are removed: the height goes back from ${active.committedTip.height} to ${tip.height}. ` +
        'Start the node again to continue from there, and report how you obtained the set',
    );
  }

  #logProgress({ tip, target }: BackgroundChain): void {
    const now = performance.now();
    if (now - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#loggedAt = now;
    this.#deps.log.info('validating the chain behind the loaded UTXO set', { height: tip.height, of: target.height });
  }
}
