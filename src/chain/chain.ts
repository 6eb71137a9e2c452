import type { CheckBlockOptions } from '../consensus/check-block.ts';
import { type BlockRejection, reject } from '../consensus/rejection.ts';
import { hash256 } from '../crypto/hash-functions.ts';
import { type ParsedBlock, parseBlock } from '../primitives/block.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { type BlockHeader, HEADER_SIZE, headerFromBytes } from '../primitives/header.ts';
import type { FilePosition } from '../storage/block-files.ts';
import { assert } from '../util/assert.ts';
import { unixSeconds } from '../util/clock.ts';
import { QueueClosing } from '../util/serial-queue.ts';
import { canDisconnectTo } from './best-chain.ts';
import type { BlockOutcome, HeadersOutcome } from './block-intake.ts';
import { IdleCommit } from './chain-committer.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainDeps, ChainOptions } from './chain-options.ts';
import { type ChainParts, openChainParts } from './chain-parts.ts';
import type { ChainCommit, ChainFollower } from './events.ts';
import type { LoadableBase, SetToActivate } from './loaded-utxo-set.ts';
import { ReadableChain } from './readable-chain.ts';
import { testBlock } from './test-block.ts';

/** Number of headers in one message that are committed at once during initial block download. */
const FEW_HEADERS = 16;

/**
 * The block chain: accepts blocks and headers in any order, keeps the valid chain with the most work active, and
 * commits it with all its indexes. It is the only writer of the chain's storage, and runs its calls one after another.
 */
export class Chain extends ReadableChain {
  readonly #parts: ChainParts;
  readonly #idle: IdleCommit;

  /** Opens the chain's storage, or creates it with the genesis block. Throws OperatorError. */
  constructor(options: ChainOptions, deps: ChainDeps) {
    const parts = openChainParts(options, deps);
    super(parts);
    this.#parts = parts;
    this.#idle = new IdleCommit(parts.committer, () => this.settle());
  }

  /** Reserves the id of a run of coins. */
  reserveRunId(): number {
    return this.#parts.store.runs.reserveId();
  }

  /** Returns the base of a UTXO set that may be loaded now, or the reason why it may not. */
  findLoadableBase(hash: Uint8Array): LoadableBase | string {
    return this.#parts.loaded.findBase(hash);
  }

  /**
   * Makes a UTXO set the coins of the active chain. Resolves to the reason for a refusal, or to null. `mayActivate` returns
   * a further reason of the caller, or null.
   */
  activateUtxoSet(set: SetToActivate, mayActivate: () => string | null): Promise<string | null> {
    return this.#parts.queue.run(async () => {
      await this.#verifyAndCommit();
      const reason = mayActivate() ?? this.#parts.loaded.activate(set);
      if (reason !== null) {
        this.#parts.store.runs.removeUnlisted(set.run);
        return reason;
      }
      await this.#parts.best.activateBestChain();
      this.#parts.loaded.schedule();
      return null;
    });
  }

  /** Starts the merges that are due, and resolves when so few runs wait that more may be added. */
  async mergesCaughtUp(): Promise<void> {
    this.#parts.store.merges.schedule();
    await this.#parts.store.merges.caughtUp();
  }

  /**
   * Notifies `listener` after each commit, in order, and after the follower. Returns a function that unsubscribes it.
   */
  onCommit(listener: (commit: ChainCommit) => void): () => void {
    return this.#parts.committer.committed.subscribe(listener);
  }

  /** From now on `follower` is called for each move of the chain. */
  setFollower(follower: ChainFollower): void {
    this.#parts.committer.follower = follower;
  }

  /**
   * Notifies `listener` of the number of inputs of each connected block, before its scripts are verified. Returns a
   * function that unsubscribes it.
   */
  onBlockConnected(listener: (inputs: number) => void): () => void {
    return this.#parts.best.blockConnected.subscribe(listener);
  }

  /** Notifies `listener` of stored blocks that turn out to be invalid. Returns a function that unsubscribes it. */
  onInvalidBlock(listener: (entry: ChainEntry, rejection: BlockRejection) => void): () => void {
    return this.#parts.invalid.invalidFound.subscribe(listener);
  }

  /**
   * Notifies `listener` of each block on top of the tip once all checks but those of inputs and scripts have passed, so
   * that it can be announced as a compact block before full validation (BIP-152, Core's NewPoWValidBlock). Not during
   * initial block download. Returns a function that unsubscribes it.
   */
  onNewPowValidBlock(listener: (entry: ChainEntry, block: ParsedBlock) => void): () => void {
    return this.#parts.intake.newPowValidBlock.subscribe(listener);
  }

  /**
   * Validates and stores a block, and activates the best chain. During initial block download the scripts are verified
   * later; `settle` waits for that. Rejects only if storage fails. `parse` decodes the bytes, by default of exactly one
   * block.
   */
  acceptBlock(raw: Uint8Array, parse: (raw: Uint8Array) => ParsedBlock = parseBlock): Promise<BlockOutcome> {
    return this.#parts.queue.run(async () => {
      this.#idle.disarm();
      const outcome = await this.#parts.intake.acceptBlock(raw, parse);
      // Earlier blocks may wait for their commit whatever the outcome of this one.
      this.#idle.arm();
      this.#parts.loaded.schedule();
      return outcome;
    });
  }

  /** As `acceptBlock`, for a block that the block files hold at `position` and that is not written again. */
  acceptStoredBlock(raw: Uint8Array, position: FilePosition): Promise<BlockOutcome> {
    return this.#parts.queue.run(() => this.#parts.intake.acceptBlock(raw, parseBlock, position));
  }

  /** Validates and stores a block, and resolves when it is fully validated and committed. */
  submitBlock(raw: Uint8Array): Promise<BlockOutcome> {
    return this.#parts.queue.run(async () => {
      const outcome = await this.#parts.intake.acceptBlock(raw, parseBlock);
      await this.#verifyAndCommit();
      if (outcome.status !== 'accepted' || !outcome.entry.failed) return outcome;
      // Without a rejection of its own, the block builds on a block that turned out to be invalid.
      const parentFailed = reject('invalid-prev', 'bad-prevblk', 'parent block is invalid');
      return { status: 'rejected', rejection: this.#parts.invalid.rejectionOf(outcome.entry) ?? parentFailed };
    });
  }

  /**
   * Validates a block as the next one on the tip without storing it. Resolves to its rejection or null; the rejection
   * is `inconclusive-not-best-prevblk` if it builds on another block.
   */
  testBlock(block: ParsedBlock, options: CheckBlockOptions): Promise<BlockRejection | null> {
    return this.#parts.queue.run(async () => {
      await this.#verifyAndCommit();
      const tested = testBlock(block, options, {
        active: this.#parts.active,
        params: this.params.consensus,
        verifier: this.#parts.verifier,
        now: unixSeconds(this.#parts.clock),
      });
      if (!tested.ok) return tested;
      let rejection: BlockRejection | null = null;
      const verified = tested.value.then((found) => void (rejection = found));
      await this.#parts.best.waitForScripts(verified, false);
      return rejection;
    });
  }

  /** Accepts an 80-byte header before its body. */
  acceptHeader(raw: Uint8Array): Promise<BlockOutcome> {
    assert(raw.length === HEADER_SIZE, 'a header has 80 bytes');
    return this.#parts.queue.run(async () => {
      const accepted = this.#parts.intake.acceptHeader(hash256(raw) as BlockHash, headerFromBytes(raw));
      if (!accepted.ok) return { status: 'rejected', rejection: accepted };
      const { entry, isNew } = accepted.value;
      this.#idle.arm({ soon: !this.initialSync });
      return { status: isNew ? 'accepted' : 'known', entry };
    });
  }

  /** Accepts headers, each the parent of the next, before their bodies; up to the first that is rejected. */
  acceptHeaders(headers: readonly BlockHeader[]): Promise<HeadersOutcome> {
    return this.#parts.queue.run(async () => {
      const outcome = this.#parts.intake.acceptHeaders(headers);
      // In bulk, headers wait for a common commit; single ones are readable at once.
      const isBulk = this.initialSync && headers.length > FEW_HEADERS;
      const isFollowing = !this.initialSync || this.#parts.active.tip === this.#parts.active.committedTip;
      if (outcome.added > 0) this.#idle.arm({ soon: !isBulk && isFollowing });
      return outcome;
    });
  }

  /**
   * Marks a block and its descendants invalid until `reconsiderBlock` (Core's invalidateblock). Not the genesis block.
   * Resolves to false, without a change, if a block that would be disconnected has been pruned.
   */
  invalidateBlock(entry: ChainEntry): Promise<boolean> {
    assert(entry.parent !== null, 'the genesis block stays valid');
    return this.#parts.queue.run(async () => {
      await this.#verifyAndCommit();
      const active = this.#parts.active;
      if (active.tip.ancestor(entry.height) === entry && !canDisconnectTo(active.tip, entry.parent!)) return false;
      while (active.tip.ancestor(entry.height) === entry) active.disconnectTip();
      this.#parts.invalid.invalidate(entry);
      await this.#parts.best.activateBestChain();
      await this.#verifyAndCommit();
      return true;
    });
  }

  /** Clears the invalid marks of a block, its ancestors and its descendants (Core's reconsiderblock). */
  reconsiderBlock(entry: ChainEntry): Promise<void> {
    return this.#parts.queue.run(async () => {
      this.#parts.invalid.reconsider(entry);
      await this.#parts.best.activateBestChain();
      await this.#verifyAndCommit();
    });
  }

  /**
   * Treats a block as if it had arrived before others with the same work (Core's preciousblock), until the next start.
   */
  preferBlock(entry: ChainEntry): Promise<void> {
    return this.#parts.queue.run(async () => {
      if (entry.chainwork < this.#parts.active.tip.chainwork) return;
      this.#parts.tree.preferEntry(entry);
      await this.#parts.best.activateBestChain();
      await this.#verifyAndCommit();
    });
  }

  /**
   * Runs `work` when all submitted blocks are validated and committed; only then may it read coins. `work` is
   * synchronous. Rejects with the exception of `work`.
   */
  async whenSettled<T>(work: () => T): Promise<T> {
    const outcome = await this.#parts.queue.run(async () => {
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

  /** Reserves a number of the event sequence for an event that is not stored in the chain's log. */
  nextSeq(): number {
    return this.#parts.store.nextSeq();
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
    while (await this.#parts.queue.run(next));
  }

  /** Resolves when all submitted blocks are validated and committed. */
  settle(): Promise<void> {
    return this.#parts.queue.run(() => this.#verifyAndCommit());
  }

  /**
   * Commits the verified blocks and closes the storage. Blocks whose script checks still run are not committed, and
   * calls that wait for these checks reject.
   */
  async close(): Promise<void> {
    this.#parts.loaded.close();
    this.#parts.queue.interrupt();
    try {
      if (this.stopped === null)
        await this.#parts.queue.run(() => {
          this.#idle.disarm();
          return this.#parts.best.commitVerified();
        });
    } catch (error) {
      // A better branch would have to be verified first; the next start does that.
      if (!(error instanceof QueueClosing)) throw error;
    } finally {
      this.#idle.disarm();
      this.#parts.queue.close();
      await this.#parts.store.rows.whenIdle();
      this.#parts.store.close();
    }
  }

  async #verifyAndCommit(): Promise<void> {
    this.#idle.disarm();
    await this.#parts.best.verifyAndCommit();
  }
}
