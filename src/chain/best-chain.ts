import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { proofEquivalentTime } from '../consensus/work.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { Log } from '../util/log.ts';
import { Observers } from '../util/observers.ts';
import { OperatorError } from '../util/operator-error.ts';
import { noteProgress } from '../util/progress.ts';
import type { SerialQueue } from '../util/serial-queue.ts';
import type { ActiveChain } from './active-chain.ts';
import type { ChainCommitter } from './chain-committer.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import type { ChainWarnings } from './chain-warnings.ts';
import type { HeaderTree } from './header-tree.ts';
import type { InitialSync } from './initial-sync.ts';
import type { InvalidBlocks } from './invalid-blocks.ts';
import type { ScriptVerifier } from './script-verifier.ts';
import type { StageTimings } from './stage-timings.ts';

/**
 * Two weeks, Core's bound: scripts are skipped only for blocks under more work than this at the rate of the best
 * header, seconds.
 */
const BURIED_S = 14 * 24 * 60 * 60;

export interface BestChainDeps {
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  readonly active: ActiveChain;
  readonly committer: ChainCommitter;
  readonly invalid: InvalidBlocks;
  readonly sync: InitialSync;
  readonly queue: SerialQueue;
  readonly warnings: ChainWarnings;
  readonly timings: StageTimings;
  readonly verifier: ScriptVerifier;
  readonly params: ConsensusParams;
  /** Height at which no further block is connected; infinite for none. */
  readonly lastHeight: number;
  readonly log: Log;
}

/**
 * Activates the chain with the most work, like Core's ActivateBestChain. Within a call of the chain's queue it:
 * - disconnects blocks down to the fork point and connects those of the better branch, in memory;
 * - marks blocks that break a rule or whose scripts fail as invalid, and activates the best of the remaining chains;
 * - commits verified blocks: after every call, but during initial block download only when a commit is due, or when a
 *   block was found invalid, before observers are notified of it.
 */
export class BestChain {
  /** Notified of the number of inputs of each connected block, before its scripts are verified. */
  readonly blockConnected: Observers<[inputs: number]>;
  readonly #deps: BestChainDeps;
  /** The reason why scripts were last verified, null if they were not; undefined before the first block. */
  #lastReason: string | null | undefined;

  constructor(deps: BestChainDeps) {
    this.#deps = deps;
    this.blockConnected = new Observers('block connected', deps.log);
  }

  /**
   * Activates the best chain block by block. `block` is the body of `arrived`, so that it need not be read from disk.
   */
  async activateBestChain(arrived: ChainEntry | null = null, block: ParsedBlock | null = null): Promise<void> {
    const { active, tree, store, committer, invalid, sync, timings, verifier, lastHeight } = this.#deps;
    for (;;) {
      await this.#leaveFailedBranch();
      if (active.tip.height >= lastHeight) break;
      const best = tree.bestCandidate(active.tip);
      if (best === active.tip) break;
      const fork = forkPoint(active.tip, best);
      if (fork !== active.tip) await this.#commitSealed();
      if (active.failedBlock()) continue;
      if (!canDisconnectTo(active.tip, fork)) throw prunedForkError(fork, best);
      while (active.tip !== fork) {
        noteProgress();
        this.#disconnectTip();
      }
      while (active.tip !== best && active.tip.height < lastHeight) {
        noteProgress();
        const entry = best.ancestor(active.tip.height + 1)!;
        const body = entry === arrived && block ? block : store.readBlock(entry);
        const scriptVerifier = this.#needsScripts(entry) ? verifier : null;
        const connected = timings.timed('connect', () => active.connectBlock(entry, body, scriptVerifier));
        if (!connected.ok) {
          invalid.markFailed(entry, connected);
          break;
        }
        this.blockConnected.notify(connected.value.inputs);
        // Yields between blocks to script results, peers and commands.
        await new Promise(setImmediate);
        await this.waitForScripts(active.belowPendingLimit());
        if (store.merges.behind) await this.waitForScripts(store.merges.caughtUp(), false);
        if (active.failedBlock()) break;
        if (active.sealed && committer.isBehind) await timings.waited(committer.whenSealedBuilt());
        if (active.sealed && active.isSealedVerified && committer.isSealedBuilt) committer.commitSealed();
        // Readers see the old tip until the new branch has as much work.
        const ahead = active.tip.chainwork >= active.committedTip.chainwork;
        if (!active.sealed && ahead && committer.isDue) committer.sealAhead();
      }
    }
    tree.pruneCandidates(active.tip);
    sync.update(active.tip);
    // Peers are disconnected for an invalid block, and a client that sees this must find the chain without the block. Such
    // blocks cost a proof of work each, so they lead to few commits during initial block download.
    if (!sync.active || active.tip.height >= lastHeight || invalid.hasUnreported) await this.verifyAndCommit();
    invalid.notifyObservers();
  }

  /** Disconnects the tip of the active chain. Throws OperatorError where a file of the block is missing. */
  #disconnectTip(): void {
    const { active, log } = this.#deps;
    const { hash, height } = active.tip;
    try {
      active.disconnectTip();
    } catch (error) {
      log.error('a block cannot be disconnected', { hash: hashToHex(hash), height, error });
      const { code, path } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') throw error;
      throw new OperatorError(
        `cannot disconnect block ${hashToHex(hash)} at height ${height}: ${path} is missing: restore it, or run obverse reindex`,
      );
    }
  }

  /** Returns whether the scripts of a block are verified, and logs where that or its reason changes. */
  #needsScripts(entry: ChainEntry): boolean {
    const { tree, params, log } = this.#deps;
    const reason = whyVerified(entry, tree, params);
    if (reason !== this.#lastReason) {
      const facts = { height: entry.height, hash: hashToHex(entry.hash) };
      if (reason === null) log.info('script verification disabled', facts);
      else log.info('script verification enabled', { ...facts, reason });
      this.#lastReason = reason;
    }
    return reason !== null;
  }

  /** Waits for all script checks and commits. If one failed, activates the best remaining chain first. */
  async verifyAndCommit(): Promise<void> {
    const { active, committer } = this.#deps;
    for (;;) {
      await this.waitForScripts(active.allVerified());
      if (!active.failedBlock()) break;
      await this.activateBestChain();
    }
    await committer.whenSealedBuilt();
    if (active.sealed) committer.commitSealed();
    if (committer.hasChanges) {
      committer.sealChanges();
      committer.commitSealed();
    }
  }

  /** Commits the blocks that are verified, without waiting for the others. */
  async commitVerified(): Promise<void> {
    const { active, committer } = this.#deps;
    if (active.isVerified) await this.verifyAndCommit();
    else if (active.sealed && active.isSealedVerified && !active.failedBlock()) {
      await committer.whenSealedBuilt();
      committer.commitSealed();
    }
  }

  /**
   * Waits for script results. Rejects with QueueClosing if the chain is closing, unless they are `ready`: by default,
   * unless all connected blocks are verified.
   */
  async waitForScripts(results: Promise<void>, ready = this.#deps.active.isVerified): Promise<void> {
    const { queue, timings } = this.#deps;
    await timings.waited(queue.waitFor(results, ready));
  }

  /** Leaves the branch of a block whose script checks failed, and marks that block invalid. */
  async #leaveFailedBranch(): Promise<void> {
    const { active, committer, invalid } = this.#deps;
    const failed = active.failedBlock();
    if (!failed) return;
    if (active.sealed?.connected.some(({ entry }) => entry === failed.entry)) {
      await committer.whenSealedBuilt();
      // The sealed commit holds the failed block, so none of it is committed. This is rare, so the valid blocks before
      // it are simply connected again.
      active.resetToCommitted();
      committer.restageSealed();
    } else while (active.tip !== failed.entry.parent) active.disconnectTip();
    invalid.markFailed(failed.entry, failed.rejection);
  }

  /** Commits the sealed changes once they are verified; not if one of their blocks is invalid. */
  async #commitSealed(): Promise<void> {
    const { active, committer } = this.#deps;
    if (!active.sealed) return;
    await this.waitForScripts(active.allVerified());
    await committer.whenSealedBuilt();
    if (!active.failedBlock()) committer.commitSealed();
  }
}

/** Whether all blocks above a fork point are stored with their undo data; only pruned ones are not. */
export function canDisconnectTo(tip: ChainEntry, fork: ChainEntry): boolean {
  // Blocks that are not committed have no undo data in the files yet.
  for (let at = tip; at !== fork; at = at.parent!) if (!at.hasBody || (at.wasConnected && !at.hasUndo)) return false;
  return true;
}

function prunedForkError(fork: ChainEntry, best: ChainEntry): OperatorError {
  return new OperatorError(
    `a chain with more work, up to height ${best.height}, leaves the active chain at height ${fork.height}, and blocks above that height have been pruned: the whole chain must be synced again`,
  );
}

/**
 * Whether the script checks of a block may be skipped, as Core's ConnectBlock decides: it is an ancestor of the
 * assumed-valid block of this version and of the best header, that header has the minimum chain work, and two weeks of
 * work lie on top of the block.
 */
export function isAssumedValid(entry: ChainEntry, tree: HeaderTree, params: ConsensusParams): boolean {
  return whyVerified(entry, tree, params) === null;
}

/** Returns why the scripts of a block are verified, in Core's words; null if they need not be. */
function whyVerified(entry: ChainEntry, tree: HeaderTree, params: ConsensusParams): string | null {
  if (params.assumeValid === null) return 'assumevalid=0 (always verify)';
  const assumed = tree.findEntry(params.assumeValid);
  const { bestHeader } = tree;
  if (assumed === null) return 'assumevalid hash not in headers';
  if (entry.height > assumed.height) return 'block height above assumevalid height';
  if (assumed.ancestor(entry.height) !== entry) return 'block not in assumevalid chain';
  if (bestHeader.ancestor(entry.height) !== entry) return 'block not in best header chain';
  if (bestHeader.chainwork < params.minimumChainWork) return 'best header chainwork below minimumchainwork';
  const buried = proofEquivalentTime(bestHeader, entry, bestHeader, params.powTargetSpacing);
  return buried > BURIED_S ? null : 'block too recent relative to best header';
}
