import type { CheckBlockOptions } from '../consensus/check-block.ts';
import { type BlockRejection, reject } from '../consensus/rejection.ts';
import { hash256 } from '../crypto/hash.ts';
import { genesisBlock } from '../params/genesis.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type ParsedBlock, parseBlock } from '../primitives/block.ts';
import type { Coin } from '../primitives/coin.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { type BlockHeader, HEADER_SIZE, headerFromBytes } from '../primitives/header.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { syncAgainAdvice } from '../storage/chain-folder.ts';
import { isDamage } from '../storage/database.ts';
import type { SeqFloor } from '../storage/seq-floor.ts';
import { assert } from '../util/assert.ts';
import { DecodeError } from '../util/bytes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { DurationTotals } from '../util/duration-counts.ts';
import type { Log } from '../util/log.ts';
import { noteProgress } from '../util/progress.ts';
import { QueueClosing, SerialQueue } from '../util/serial-queue.ts';
import { ActiveChain } from './active-chain.ts';
import { BestChain } from './best-chain.ts';
import { BlockIntake, type BlockOutcome, type HeadersOutcome } from './block-intake.ts';
import { ChainCommitter, type CommitResult, IdleCommit } from './chain-committer.ts';
import type { ChainEntry } from './chain-entry.ts';
import { ChainStore } from './chain-store.ts';
import { ChainWarnings } from './chain-warnings.ts';
import type { ChainCommit, ChainFollower } from './events.ts';
import type { FilterIndex } from './filter-index.ts';
import { type ChainTip, chainTips, HeaderTree } from './header-tree.ts';
import { InitialSync } from './initial-sync.ts';
import { InvalidBlocks } from './invalid-blocks.ts';
import type { ScriptVerifier } from './script-verifier.ts';
import { type ChainTimings, StageTimings } from './stage-timings.ts';
import { testBlock } from './test-block.ts';

export interface ChainOptions {
  /** The folder of the chain: nothing else is stored in it. */
  readonly dir: string;
  readonly params: NetworkParams;
  /** Of the table of coins in memory. */
  readonly coinsCacheBytes: number;
  /** Of the database's pages in memory. */
  readonly databaseCacheMiB: number;
  /** Keeps the filters of blocks (BIP-158); off without it. */
  readonly filters?: boolean;
  /** Where numbers of events are reserved outside the folder of the chain. */
  readonly seqFloor?: SeqFloor;
}

export interface ChainDeps {
  readonly verifier: ScriptVerifier;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The chain of blocks: takes blocks and headers in any order, keeps the valid chain with the most work active, and
 * commits it with all its indexes. The single writer of the chain's storage. Calls are carried out one after another.
 */
export class Chain {
  readonly params: NetworkParams;
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

  /** Opens the chain's storage, or makes it with the genesis block. Throws OperatorError. */
  constructor(options: ChainOptions, deps: ChainDeps) {
    const { dir, params, coinsCacheBytes, databaseCacheMiB, filters, seqFloor } = options;
    this.params = params;
    this.#verifier = deps.verifier;
    this.#clock = deps.clock;
    this.#queue = new SerialQueue('the chain', (error) => {
      const advice = error instanceof DecodeError || isDamage(error) ? syncAgainAdvice(dir) : null;
      deps.log.error('block processing stopped', { error, ...(advice !== null && { advice }) });
    });
    this.#timings = new StageTimings(deps.clock);
    this.#store = new ChainStore(dir, params, { cacheMiB: databaseCacheMiB, filters, seqFloor });
    try {
      for (const record of this.#store.headers.all()) {
        noteProgress();
        this.#tree.loadRecord(record);
      }
      const tip = this.#store.headers.tip();
      const genesis = parseBlock(genesisBlock(params));
      const entry = tip ? this.#tree.findEntry(tip.hash)! : this.#tree.insertHeader(genesis.hash, genesis.header, null);
      this.#tree.preferChain(entry);
      this.#store.filters?.open(tip && entry);
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
      this.#idle = new IdleCommit(this.#committer, () => this.settle());
      this.#invalid = new InvalidBlocks(this.#tree, this.#committer, deps.log);
      const validating = { ...parts, committer: this.#committer, invalid: this.#invalid };
      this.#best = new BestChain(validating);
      this.#intake = new BlockIntake({ ...validating, best: this.#best });
      if (!tip) this.#commitGenesis(entry, genesis);
      this.#sync.update(this.tip);
      this.#warnings.update(this.tip);
      // The last run may have ended on the way to a better chain. A failure is kept in `stopped`.
      if (this.#tree.bestCandidate(this.tip) !== this.tip)
        this.#queue.run(() => this.#best.activateBestChain()).catch(() => {});
    } catch (error) {
      this.#store.close();
      throw error;
    }
  }

  /** The last block whose state readers see. */
  get tip(): ChainEntry {
    return this.#active.committedTip;
  }

  /** Height up to which blocks are connected, those included whose scripts are still being judged. */
  get height(): number {
    return this.#active.tip.height;
  }

  /** The valid header with the most work. */
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

  /** Milliseconds. */
  get timings(): ChainTimings<number> {
    const { parse, check, connect, wait, commit } = this.durations();
    const ms = ({ seconds }: DurationTotals) => seconds * 1000;
    return { parse: ms(parse), check: ms(check), connect: ms(connect), wait: ms(wait), commit: ms(commit) };
  }

  /** How long each stage took; a block may pass some more than once, and a commit may hold many blocks. */
  durations(): ChainTimings<DurationTotals> {
    return this.#timings.totals(this.#committer.durations.totals());
  }

  /** Transactions in the committed chain. */
  get transactions(): number {
    return this.#store.headers.totals(this.tip.height)?.txs ?? 0;
  }

  get connecting(): boolean {
    return this.#queue.running;
  }

  /** How many events the log holds. */
  get eventRows(): number {
    return this.#store.eventRows;
  }

  /** The newest number in the event log. */
  get lastSeq(): number {
    return this.#store.lastSeq;
  }

  /** Why nothing more is taken, or null. */
  get stopped(): Error | null {
    return this.#queue.stopped;
  }

  findEntry(hash: Uint8Array): ChainEntry | null {
    return this.#tree.findEntry(hash);
  }

  /** The index of block filters; null where it is switched off. */
  get filters(): FilterIndex | null {
    return this.#store.filters;
  }

  /** Listeners are told in order, after each commit and after the follower. Returns how to leave. */
  onCommit(listener: (commit: ChainCommit) => void): () => void {
    return this.#committer.committed.subscribe(listener);
  }

  /** From now on `follower` goes along with the chain. */
  setFollower(follower: ChainFollower): void {
    this.#committer.follower = follower;
  }

  /** Told of the inputs of each block that is connected, before its scripts are judged. Returns how to leave. */
  onBlockConnected(listener: (inputs: number) => void): () => void {
    return this.#best.blockConnected.subscribe(listener);
  }

  /** Told when a block that was taken turns out to be invalid. Returns how to leave. */
  onInvalidBlock(listener: (entry: ChainEntry, rejection: BlockRejection) => void): () => void {
    return this.#invalid.invalidFound.subscribe(listener);
  }

  /**
   * Told of each block on top of the tip as soon as all but its inputs and scripts is checked: what may be passed on
   * before it is judged (BIP-152). Not in initial sync. Returns how to leave.
   */
  onNewPowValidBlock(listener: (entry: ChainEntry, block: ParsedBlock) => void): () => void {
    return this.#intake.newPowValidBlock.subscribe(listener);
  }

  /**
   * Takes a block. In initial sync it is connected in memory and its scripts are judged later: `settle` waits for them.
   * Rejects only when storage fails. `parse` reads the bytes, which by default hold the block and nothing else.
   */
  acceptBlock(raw: Uint8Array, parse: (raw: Uint8Array) => ParsedBlock = parseBlock): Promise<BlockOutcome> {
    return this.#queue.run(async () => {
      this.#idle.disarm();
      const outcome = await this.#intake.acceptBlock(raw, parse);
      // Whatever came of it: those before it may still wait for their commit.
      this.#idle.arm();
      return outcome;
    });
  }

  /** Takes a block, and waits until it is judged and committed. */
  submitBlock(raw: Uint8Array): Promise<BlockOutcome> {
    return this.#queue.run(async () => {
      const outcome = await this.#intake.acceptBlock(raw, parseBlock);
      await this.#verifyAndCommit();
      if (outcome.status !== 'accepted' || !outcome.entry.failed) return outcome;
      // Where it has no fault of its own, a block it builds on turned out to have one.
      const parentFailed = reject('invalid-prev', 'bad-prevblk', 'the block it builds on is invalid');
      return { status: 'rejected', rejection: this.#invalid.rejectionOf(outcome.entry) ?? parentFailed };
    });
  }

  /**
   * What is wrong with a block as the next one on the tip, or null; it is not kept. Resolves to the rejection
   * `inconclusive-not-best-prevblk` where it builds on another block.
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
      const judged = tested.value.then((found) => void (rejection = found));
      await this.#best.waitForScripts(judged, false);
      return rejection;
    });
  }

  /** Takes the 80 bytes of a header ahead of its body. */
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

  /** Takes headers, each the parent of the next, ahead of their bodies; up to the first that is refused. */
  acceptHeaders(headers: readonly BlockHeader[]): Promise<HeadersOutcome> {
    return this.#queue.run(async () => {
      const outcome = this.#intake.acceptHeaders(headers);
      if (outcome.added > 0) this.#idle.arm();
      return outcome;
    });
  }

  /** Treats a block as invalid, and all that builds on it, until it is reconsidered. Not the genesis block. */
  invalidateBlock(entry: ChainEntry): Promise<void> {
    assert(entry.parent !== null, 'the genesis block stays valid');
    return this.#queue.run(async () => {
      await this.#verifyAndCommit();
      const active = this.#active;
      while (active.tip.ancestor(entry.height) === entry) active.disconnectTip();
      this.#invalid.invalidate(entry);
      await this.#best.activateBestChain();
      await this.#verifyAndCommit();
    });
  }

  /** Forgets that a block, its ancestors and what builds on it were found or called invalid. */
  reconsiderBlock(entry: ChainEntry): Promise<void> {
    return this.#queue.run(async () => {
      this.#invalid.reconsider(entry);
      await this.#best.activateBestChain();
      await this.#verifyAndCommit();
    });
  }

  /** Treats a block as if it had been seen before others with the same work. Lasts until the next start. */
  preferBlock(entry: ChainEntry): Promise<void> {
    return this.#queue.run(async () => {
      if (entry.chainwork < this.#active.tip.chainwork) return;
      this.#tree.preferEntry(entry);
      await this.#best.activateBestChain();
      await this.#verifyAndCommit();
    });
  }

  /**
   * Runs `work` when everything taken so far is judged and committed and nothing is half connected; only then may it
   * read coins. It must not wait for anything. Rejects with what it throws.
   */
  async whenSettled<T>(work: () => T): Promise<T> {
    const outcome = await this.#queue.run(async () => {
      await this.#verifyAndCommit();
      try {
        return { value: work() };
      } catch (error) {
        // The chain has no part in it.
        return { error };
      }
    });
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  /** An unspent output of the chain, within `whenSettled` or when told of a commit. */
  coin(outpoint: Outpoint): Coin | null {
    return this.#active.coins.getCoin(outpoint);
  }

  /** The bytes of a block of which the chain has the body. Throws DecodeError where they are damaged. */
  readRawBlock(entry: ChainEntry): Uint8Array {
    return this.#store.readRawBlock(entry);
  }

  /** The body of a block of which the chain has one. */
  readBlock(entry: ChainEntry): ParsedBlock {
    return this.#store.readBlock(entry);
  }

  /** A number of the one sequence of events, for an event that is not in the log of the chain. */
  nextSeq(): number {
    return this.#store.nextSeq();
  }

  /** The ends of all branches, the highest first. */
  chainTips(): ChainTip[] {
    return chainTips(this.#tree, this.tip);
  }

  /** Resolves when everything taken so far is judged and committed. */
  settle(): Promise<void> {
    return this.#queue.run(() => this.#verifyAndCommit());
  }

  /**
   * Commits what is judged, and closes the storage. Blocks whose scripts are still being judged are left out; calls that
   * wait for their verdicts reject.
   */
  async close(): Promise<void> {
    this.#queue.interrupt();
    try {
      if (this.stopped === null)
        await this.#queue.run(() => {
          this.#idle.disarm();
          return this.#best.commitVerified();
        });
    } catch (error) {
      // Another branch would have had to be judged first; the next start does that.
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

  /** The first commit: the genesis block. */
  #commitGenesis(entry: ChainEntry, genesis: ParsedBlock): void {
    this.#committer.addHeader(entry);
    this.#intake.storeBlock(entry, genesis);
    this.#active.stageGenesis(genesis);
    this.#committer.sealChanges();
    this.#committer.commitSealed();
  }
}
