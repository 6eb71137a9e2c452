import type { CheckBlockOptions } from '../consensus/check-block.ts';
import { type BlockRejection, reject } from '../consensus/rejection.ts';
import { hash256 } from '../crypto/hash-functions.ts';
import { genesisBlock } from '../params/genesis.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type ParsedBlock, parseBlock } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { type BlockHeader, HEADER_SIZE, headerFromBytes } from '../primitives/header.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { FilePosition } from '../storage/block-files.ts';
import { syncAgainAdvice } from '../storage/chain-folder.ts';
import { isDamage } from '../storage/database.ts';
import { mergeRuns } from '../storage/runs/merge-runs.ts';
import type { RunCount } from '../storage/runs/run-store.ts';
import { assert } from '../util/assert.ts';
import { DecodeError } from '../util/bytes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { DurationTotals } from '../util/duration-counts.ts';
import { noteProgress } from '../util/progress.ts';
import { QueueClosing, SerialQueue } from '../util/serial-queue.ts';
import { ActiveChain } from './active-chain.ts';
import type { BackgroundChain } from './background-chain.ts';
import { BestChain, canDisconnectTo } from './best-chain.ts';
import { BlockIntake, type BlockOutcome, type HeadersOutcome } from './block-intake.ts';
import { ChainCommitter, type CommitResult, IdleCommit } from './chain-committer.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainIndexes } from './chain-indexes.ts';
import type { ChainDeps, ChainOptions } from './chain-options.ts';
import { ChainStore } from './chain-store.ts';
import { ChainWarnings } from './chain-warnings.ts';
import type { ChainCommit, ChainFollower } from './events.ts';
import type { FilterIndex } from './filter-index.ts';
import { type ChainTip, chainTips, HeaderTree } from './header-tree.ts';
import { InitialSync } from './initial-sync.ts';
import { InvalidBlocks } from './invalid-blocks.ts';
import { type LoadableBase, LoadedUtxoSet, type SetToActivate } from './loaded-utxo-set.ts';
import { checkPruning, Pruner } from './pruner.ts';
import type { ScriptVerifier } from './script-verifier.ts';
import { type ChainTimings, StageTimings } from './stage-timings.ts';
import { testBlock } from './test-block.ts';

/**
 * The block chain: accepts blocks and headers in any order, keeps the valid chain with the most work active, and
 * commits it with all its indexes. It is the only writer of the chain's storage, and runs its calls one after another.
 */
export class Chain {
  readonly params: NetworkParams;
  /** Prunes block and undo files; null if pruning is off. */
  readonly pruner: Pruner | null;
  readonly #store: ChainStore;
  readonly #tree = new HeaderTree();
  readonly #active: ActiveChain;
  readonly #sync: InitialSync;
  readonly #warnings: ChainWarnings;
  readonly #verifier: ScriptVerifier;
  readonly #clock: Clock;
  readonly #committer: ChainCommitter;
  readonly #invalid: InvalidBlocks;
  readonly #best: BestChain;
  readonly #intake: BlockIntake;
  readonly #queue: SerialQueue;
  readonly #timings: StageTimings;
  readonly #idle: IdleCommit;
  readonly #loaded: LoadedUtxoSet;

  /** Opens the chain's storage, or creates it with the genesis block. Throws OperatorError. */
  constructor(options: ChainOptions, deps: ChainDeps) {
    const { dir, params, coinsCacheBytes, databaseCacheMiB, filters, indexes, seqFloor, reindex, fileLimit } = options;
    // The files of a reindex hold blocks that it does not know yet.
    const prune = reindex ? undefined : options.prune;
    this.params = params;
    this.#verifier = deps.verifier;
    this.#clock = deps.clock;
    this.#queue = new SerialQueue('the chain', (error) => {
      const advice = error instanceof DecodeError || isDamage(error) ? syncAgainAdvice(dir) : null;
      deps.log.error('block processing stopped', { error, ...(advice !== null && { advice }) });
    });
    this.#timings = new StageTimings(deps.clock);
    this.#store = new ChainStore(dir, params, {
      cacheMiB: databaseCacheMiB,
      filters,
      indexes,
      removeDisabledIndexes: options.removeDisabledIndexes,
      seqFloor,
      reindex: reindex !== undefined,
      fileLimit,
      clock: deps.clock,
      log: deps.log,
      mergeRuns: deps.mergeRuns ?? (async (job) => mergeRuns(job)),
      isStopping: deps.isStopping,
    });
    try {
      const assumed = this.#store.loadedSet()?.base ?? null;
      for (const record of this.#store.headers.all()) {
        noteProgress();
        this.#tree.loadRecord(record, assumed);
      }
      const tip = this.#store.headers.tip();
      const genesis = parseBlock(genesisBlock(params));
      const entry = tip ? this.#tree.findEntry(tip.hash)! : this.#tree.insertHeader(genesis.hash, genesis.header, null);
      this.#tree.preferChain(entry);
      this.#store.open(tip && entry, (hash) => this.#tree.findEntry(hash));
      checkPruning(this.#store, dir, prune !== undefined);
      this.#active = new ActiveChain(this.#store, params.consensus, entry, coinsCacheBytes);
      this.#sync = new InitialSync(params.consensus, deps.clock);
      this.#warnings = new ChainWarnings({ tree: this.#tree, sync: this.#sync, params, log: deps.log });
      const parts = {
        store: this.#store,
        tree: this.#tree,
        active: this.#active,
        sync: this.#sync,
        warnings: this.#warnings,
        queue: this.#queue,
        timings: this.#timings,
        verifier: deps.verifier,
        params: params.consensus,
        clock: deps.clock,
        log: deps.log,
      };
      this.#committer = new ChainCommitter(parts);
      const uncommitted = () => this.#committer.uncommittedBodies();
      this.pruner = prune ? new Pruner(prune, { ...parts, uncommitted }) : null;
      this.#committer.pruner = this.pruner;
      this.pruner?.addLock('loaded set', () => this.#loaded.background?.tip.height ?? null);
      this.pruner?.removeUnreferenced();
      this.#idle = new IdleCommit(this.#committer, () => this.settle());
      this.#invalid = new InvalidBlocks(this.#tree, this.#committer, deps.log);
      const validating = { ...parts, committer: this.#committer, invalid: this.#invalid };
      this.#best = new BestChain(validating);
      this.#intake = new BlockIntake({ ...validating, best: this.#best });
      this.#loaded = new LoadedUtxoSet({ ...validating, best: this.#best, network: params, coinsCacheBytes });
      if (!tip) this.#commitGenesis(entry, genesis, reindex?.genesis ?? null);
      this.#loaded.open();
      this.onCommit(() => this.#loaded.schedule());
      this.#loaded.schedule();
      this.#sync.update(this.tip);
      this.#warnings.update(this.tip);
      // The last run may have ended before a better chain was activated. A failure is kept in `stopped`.
      if (this.#tree.bestCandidate(this.tip) !== this.tip)
        this.#queue.run(() => this.#best.activateBestChain()).catch(() => {});
    } catch (error) {
      this.#store.close();
      throw error;
    }
  }

  /** The tip that readers see. */
  get tip(): ChainEntry {
    return this.#active.committedTip;
  }

  /** Height of the last connected block, whose scripts may not be verified yet. */
  get height(): number {
    return this.#active.tip.height;
  }

  /** The valid header with the most work; its body may be missing. */
  get bestHeader(): ChainEntry {
    return this.#tree.bestHeader;
  }

  get initialSync(): boolean {
    return this.#sync.active;
  }

  /** The safety warnings of validation, as of the last commit. */
  get warnings(): Pick<ChainWarnings, 'messages' | 'unknownRules' | 'invalidChain'> {
    return this.#warnings;
  }

  get lastCommit(): CommitResult {
    return this.#committer.last;
  }

  /** Total time of each stage, milliseconds. */
  get timings(): ChainTimings<number> {
    const { parse, check, connect, wait, commit } = this.durations();
    const ms = ({ seconds }: DurationTotals) => seconds * 1000;
    return { parse: ms(parse), check: ms(check), connect: ms(connect), wait: ms(wait), commit: ms(commit) };
  }

  /** Durations of each stage. A block may pass through a stage more than once, and a commit may hold many blocks. */
  durations(): ChainTimings<DurationTotals> {
    return this.#timings.totals(this.#committer.durations.totals());
  }

  /** Number of transactions in the committed chain. */
  get transactions(): number {
    return this.#store.headers.totals(this.tip.height)?.txs ?? 0;
  }

  /** Number of transactions up to a validated block. */
  transactionsAt({ height }: ChainEntry): number {
    return this.#store.headers.totals(height)?.txs ?? 0;
  }

  get connecting(): boolean {
    return this.#queue.running;
  }

  /** Number of events in the log. */
  get eventRows(): number {
    return this.#store.eventRows;
  }

  /** Number and bytes of the runs of the storage, by family. */
  get runCounts(): readonly RunCount[] {
    return this.#store.runs.counts();
  }

  /** Number of the newest event in the log. */
  get lastSeq(): number {
    return this.#store.lastSeq;
  }

  /** The reason why block processing stopped; null while it runs. */
  get stopped(): Error | null {
    return this.#queue.stopped;
  }

  findEntry(hash: Uint8Array): ChainEntry | null {
    return this.#tree.findEntry(hash);
  }

  /** The chain that is validated behind a loaded UTXO set; null without one. */
  get background(): BackgroundChain | null {
    return this.#loaded.background;
  }

  /** Reserves the id of a run of coins. */
  reserveRunId(): number {
    return this.#store.runs.reserveId();
  }

  /** Returns the base of a UTXO set that may be loaded now, or the reason why it may not. */
  findLoadableBase(hash: Uint8Array): LoadableBase | string {
    return this.#loaded.findBase(hash);
  }

  /**
   * Makes a UTXO set that of the active chain. Resolves to the reason why it does not, or to null. `mayActivate` returns a
   * reason of the caller.
   */
  activateUtxoSet(set: SetToActivate, mayActivate: () => string | null): Promise<string | null> {
    return this.#queue.run(async () => {
      await this.#verifyAndCommit();
      const reason = mayActivate() ?? this.#loaded.activate(set);
      if (reason !== null) {
        this.#store.runs.removeUnlisted(set.run);
        return reason;
      }
      await this.#best.activateBestChain();
      this.#loaded.schedule();
      return null;
    });
  }

  /** The block filter index; null if it is switched off. */
  get filters(): FilterIndex | null {
    return this.#store.filters;
  }

  /** Starts the merges that are due, and resolves when so few runs wait that more may be added. */
  async mergesCaughtUp(): Promise<void> {
    this.#store.merges.schedule();
    await this.#store.merges.caughtUp();
  }

  /** The indexes that can be switched on and off. */
  get indexes(): ChainIndexes {
    return this.#store.indexes;
  }

  /**
   * Notifies `listener` after each commit, in order, and after the follower. Returns a function that unsubscribes it.
   */
  onCommit(listener: (commit: ChainCommit) => void): () => void {
    return this.#committer.committed.subscribe(listener);
  }

  /** From now on `follower` is called for each move of the chain. */
  setFollower(follower: ChainFollower): void {
    this.#committer.follower = follower;
  }

  /**
   * Notifies `listener` of the number of inputs of each connected block, before its scripts are verified. Returns a
   * function that unsubscribes it.
   */
  onBlockConnected(listener: (inputs: number) => void): () => void {
    return this.#best.blockConnected.subscribe(listener);
  }

  /** Notifies `listener` of stored blocks that turn out to be invalid. Returns a function that unsubscribes it. */
  onInvalidBlock(listener: (entry: ChainEntry, rejection: BlockRejection) => void): () => void {
    return this.#invalid.invalidFound.subscribe(listener);
  }

  /**
   * Notifies `listener` of each block on top of the tip once all checks but those of inputs and scripts have passed, so
   * that it can be announced as a compact block before full validation (BIP-152, Core's NewPoWValidBlock). Not during
   * initial block download. Returns a function that unsubscribes it.
   */
  onNewPowValidBlock(listener: (entry: ChainEntry, block: ParsedBlock) => void): () => void {
    return this.#intake.newPowValidBlock.subscribe(listener);
  }

  /**
   * Validates and stores a block, and activates the best chain. During initial block download the scripts are verified
   * later; `settle` waits for that. Rejects only if storage fails. `parse` decodes the bytes, by default of exactly one
   * block.
   */
  acceptBlock(raw: Uint8Array, parse: (raw: Uint8Array) => ParsedBlock = parseBlock): Promise<BlockOutcome> {
    return this.#queue.run(async () => {
      this.#idle.disarm();
      const outcome = await this.#intake.acceptBlock(raw, parse);
      // Earlier blocks may wait for their commit whatever the outcome of this one.
      this.#idle.arm();
      this.#loaded.schedule();
      return outcome;
    });
  }

  /** As `acceptBlock`, for a block that the block files hold at `position` and that is not written again. */
  acceptStoredBlock(raw: Uint8Array, position: FilePosition): Promise<BlockOutcome> {
    return this.#queue.run(() => this.#intake.acceptBlock(raw, parseBlock, position));
  }

  /** Validates and stores a block, and resolves when it is fully validated and committed. */
  submitBlock(raw: Uint8Array): Promise<BlockOutcome> {
    return this.#queue.run(async () => {
      const outcome = await this.#intake.acceptBlock(raw, parseBlock);
      await this.#verifyAndCommit();
      if (outcome.status !== 'accepted' || !outcome.entry.failed) return outcome;
      // Without a rejection of its own, the block builds on a block that turned out to be invalid.
      const parentFailed = reject('invalid-prev', 'bad-prevblk', 'parent block is invalid');
      return { status: 'rejected', rejection: this.#invalid.rejectionOf(outcome.entry) ?? parentFailed };
    });
  }

  /**
   * Validates a block as the next one on the tip without storing it. Resolves to its rejection or null; the rejection
   * is `inconclusive-not-best-prevblk` if it builds on another block.
   */
  testBlock(block: ParsedBlock, options: CheckBlockOptions): Promise<BlockRejection | null> {
    return this.#queue.run(async () => {
      await this.#verifyAndCommit();
      const tested = testBlock(block, options, {
        active: this.#active,
        params: this.params.consensus,
        verifier: this.#verifier,
        now: unixSeconds(this.#clock),
      });
      if (!tested.ok) return tested;
      let rejection: BlockRejection | null = null;
      const verified = tested.value.then((found) => void (rejection = found));
      await this.#best.waitForScripts(verified, false);
      return rejection;
    });
  }

  /** Accepts an 80-byte header before its body. */
  acceptHeader(raw: Uint8Array): Promise<BlockOutcome> {
    assert(raw.length === HEADER_SIZE, 'a header has 80 bytes');
    return this.#queue.run(async () => {
      const accepted = this.#intake.acceptHeader(hash256(raw) as BlockHash, headerFromBytes(raw));
      if (!accepted.ok) return { status: 'rejected', rejection: accepted };
      const { entry, isNew } = accepted.value;
      this.#idle.arm();
      return { status: isNew ? 'accepted' : 'known', entry };
    });
  }

  /** Accepts headers, each the parent of the next, before their bodies; up to the first that is rejected. */
  acceptHeaders(headers: readonly BlockHeader[]): Promise<HeadersOutcome> {
    return this.#queue.run(async () => {
      const outcome = this.#intake.acceptHeaders(headers);
      if (outcome.added > 0) this.#idle.arm();
      return outcome;
    });
  }

  /**
   * Marks a block and its descendants invalid until `reconsiderBlock` (Core's invalidateblock). Not the genesis block.
   * Resolves to false, without a change, if a block that would be disconnected has been pruned.
   */
  invalidateBlock(entry: ChainEntry): Promise<boolean> {
    assert(entry.parent !== null, 'the genesis block stays valid');
    return this.#queue.run(async () => {
      await this.#verifyAndCommit();
      const active = this.#active;
      if (active.tip.ancestor(entry.height) === entry && !canDisconnectTo(active.tip, entry.parent!)) return false;
      while (active.tip.ancestor(entry.height) === entry) active.disconnectTip();
      this.#invalid.invalidate(entry);
      await this.#best.activateBestChain();
      await this.#verifyAndCommit();
      return true;
    });
  }

  /** Clears the invalid marks of a block, its ancestors and its descendants (Core's reconsiderblock). */
  reconsiderBlock(entry: ChainEntry): Promise<void> {
    return this.#queue.run(async () => {
      this.#invalid.reconsider(entry);
      await this.#best.activateBestChain();
      await this.#verifyAndCommit();
    });
  }

  /**
   * Treats a block as if it had arrived before others with the same work (Core's preciousblock), until the next start.
   */
  preferBlock(entry: ChainEntry): Promise<void> {
    return this.#queue.run(async () => {
      if (entry.chainwork < this.#active.tip.chainwork) return;
      this.#tree.preferEntry(entry);
      await this.#best.activateBestChain();
      await this.#verifyAndCommit();
    });
  }

  /**
   * Runs `work` when all submitted blocks are validated and committed; only then may it read coins. `work` is
   * synchronous. Rejects with the exception of `work`.
   */
  async whenSettled<T>(work: () => T): Promise<T> {
    const outcome = await this.#queue.run(async () => {
      await this.#verifyAndCommit();
      try {
        return { value: work() };
      } catch (error) {
        // An exception of the caller's work must not stop block processing.
        return { error };
      }
    });
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  /** Returns an unspent output of the chain, or null. Call it only within `whenSettled` or an observer of commits. */
  coin(outpoint: Outpoint): Coin | null {
    return this.#active.coins.getCoin(outpoint);
  }

  /** Returns the encoded body of a block that has one. Throws DecodeError if it is damaged. */
  readRawBlock(entry: ChainEntry): Uint8Array {
    return this.#store.readRawBlock(entry);
  }

  /** Returns the body of a block that has one. Throws DecodeError if it is damaged. */
  readBlock(entry: ChainEntry): ParsedBlock {
    return this.#store.readBlock(entry);
  }

  /** Reserves a number of the event sequence for an event that is not stored in the chain's log. */
  nextSeq(): number {
    return this.#store.nextSeq();
  }

  /** Returns the tips of all branches, the highest first. */
  chainTips(): ChainTip[] {
    return chainTips(this.#tree, this.tip);
  }

  /** From now on the size of block and undo files is kept below the target of pruning, if there is one. */
  startPruning(): void {
    const { pruner } = this;
    if (pruner === null) return;
    pruner.start();
    // A failure is kept in `stopped`.
    this.#pruneRounds(() => pruner.pruneToTarget()).catch(() => {});
  }

  /** Removes all block and undo files whose blocks are at most at a height, as far as pruning allows. */
  async pruneUpTo(height: number): Promise<void> {
    const { pruner } = this;
    assert(pruner !== null, 'pruning is on');
    await this.#pruneRounds(() => pruner.pruneUpTo(height));
  }

  /** Runs rounds until one removes nothing. Other calls run in between. */
  async #pruneRounds(round: () => boolean): Promise<void> {
    const next = async () => {
      await this.#verifyAndCommit();
      return round();
    };
    while (await this.#queue.run(next));
  }

  /** Resolves when all submitted blocks are validated and committed. */
  settle(): Promise<void> {
    return this.#queue.run(() => this.#verifyAndCommit());
  }

  /**
   * Commits the verified blocks and closes the storage. Blocks whose script checks still run are not committed, and
   * calls that wait for these checks reject.
   */
  async close(): Promise<void> {
    this.#loaded.close();
    this.#queue.interrupt();
    try {
      if (this.stopped === null)
        await this.#queue.run(() => {
          this.#idle.disarm();
          return this.#best.commitVerified();
        });
    } catch (error) {
      // A better branch would have to be verified first; the next start does that.
      if (!(error instanceof QueueClosing)) throw error;
    } finally {
      this.#idle.disarm();
      this.#queue.close();
      this.#store.close();
    }
  }

  async #verifyAndCommit(): Promise<void> {
    this.#idle.disarm();
    await this.#best.verifyAndCommit();
  }

  /** Makes the first commit, which holds the genesis block. */
  #commitGenesis(entry: ChainEntry, genesis: ParsedBlock, position: FilePosition | null): void {
    this.#committer.addHeader(entry);
    this.#intake.storeBlock(entry, genesis, position);
    this.#active.stageGenesis(genesis);
    this.#committer.sealChanges();
    this.#committer.commitSealed();
    // A later start takes block files without a genesis block in the database for those of a database that is gone.
    this.#store.checkpoint();
  }
}
