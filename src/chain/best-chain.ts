import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { proofEquivalentTime } from '../consensus/work.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import type { Log } from '../util/log.ts';
import { Observers } from '../util/observers.ts';
import { noteProgress } from '../util/progress.ts';
import type { SerialQueue } from '../util/serial-queue.ts';
import type { ActiveChain } from './active-chain.ts';
import type { ChainCommitter } from './chain-committer.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import type { HeaderTree } from './header-tree.ts';
import type { InitialSync } from './initial-sync.ts';
import type { InvalidBlocks } from './invalid-blocks.ts';
import type { ScriptVerifier } from './script-verifier.ts';
import type { StageTimings } from './stage-timings.ts';

/** A block must be buried under this much work of the best header's rate for its scripts to be skipped. */
const BURIED_S = 14 * 24 * 60 * 60;

export interface BestChainDeps {
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  readonly active: ActiveChain;
  readonly committer: ChainCommitter;
  readonly invalid: InvalidBlocks;
  readonly sync: InitialSync;
  readonly queue: SerialQueue;
  readonly timings: StageTimings;
  readonly verifier: ScriptVerifier;
  readonly params: ConsensusParams;
  readonly log: Log;
}

/**
 * Moves the active chain to the best one of the tree: connects and disconnects blocks, leaves those that turn out to be
 * invalid, and commits what is judged. Within a turn.
 */
export class BestChain {
  /** Told of the inputs of each block that is connected, before its scripts are judged. */
  readonly blockConnected: Observers<[inputs: number]>;
  readonly #deps: BestChainDeps;

  constructor(deps: BestChainDeps) {
    this.#deps = deps;
    this.blockConnected = new Observers('block connected', deps.log);
  }

  /** Moves to the best chain there is, block by block; `block` is the body of `arrived`. */
  async activateBestChain(arrived: ChainEntry | null = null, block: ParsedBlock | null = null): Promise<void> {
    const { active, tree, store, committer, invalid, sync, timings, params, verifier } = this.#deps;
    for (;;) {
      this.#leaveFailedBranch();
      const best = tree.bestCandidate(active.tip);
      if (best === active.tip) break;
      const fork = forkPoint(active.tip, best);
      if (fork !== active.tip) await this.#commitSealed();
      if (active.failedBlock()) continue;
      while (active.tip !== fork) {
        noteProgress();
        active.disconnectTip();
      }
      while (active.tip !== best) {
        noteProgress();
        const entry = best.ancestor(active.tip.height + 1)!;
        const body = entry === arrived && block ? block : store.readBlock(entry);
        const judge = isAssumedValid(entry, tree, params) ? null : verifier;
        const connected = timings.timed('connect', () => active.connectBlock(entry, body, judge));
        if (!connected.ok) {
          invalid.markFailed(entry, connected);
          break;
        }
        this.blockConnected.notify(connected.value.inputs);
        // Verdicts, peers and commands get their turn between blocks.
        await new Promise(setImmediate);
        await this.waitForScripts(active.belowPendingLimit());
        if (active.failedBlock()) break;
        if (active.sealed && active.isSealedVerified) committer.commitSealed();
        // Readers stay on the old tip until the new branch has as much work.
        const ahead = active.tip.chainwork >= active.committedTip.chainwork;
        if (!active.sealed && ahead && committer.isDue) committer.sealChanges();
      }
    }
    tree.pruneCandidates(active.tip);
    sync.update(active.tip);
    if (!sync.active) await this.verifyAndCommit();
  }

  /** Waits for every verdict and commits; where one is bad, moves to the best chain that is left first. */
  async verifyAndCommit(): Promise<void> {
    const { active, committer } = this.#deps;
    for (;;) {
      await this.waitForScripts(active.allVerified());
      if (!active.failedBlock()) break;
      await this.activateBestChain();
    }
    if (active.sealed) committer.commitSealed();
    if (committer.hasChanges) {
      committer.sealChanges();
      committer.commitSealed();
    }
  }

  /** Commits what is judged, and leaves the rest. */
  async commitVerified(): Promise<void> {
    const { active, committer } = this.#deps;
    if (active.isVerified) await this.verifyAndCommit();
    else if (active.sealed && active.isSealedVerified && !active.failedBlock()) committer.commitSealed();
  }

  /**
   * Waits for verdicts. Rejects with QueueClosing where the chain is closed before they have come, or was and they are
   * not `ready`: by default those on the active chain.
   */
  async waitForScripts(verdicts: Promise<void>, ready = this.#deps.active.isVerified): Promise<void> {
    const { queue, timings } = this.#deps;
    await timings.waited(queue.waitFor(verdicts, ready));
  }

  /** Leaves a chain in which a block turned out to be invalid. */
  #leaveFailedBranch(): void {
    const { active, committer, invalid } = this.#deps;
    const failed = active.failedBlock();
    if (!failed) return;
    if (active.sealed?.connected.some(({ entry }) => entry === failed.entry)) {
      // Nothing of it is written. It is rare, so what lies between is simply connected again.
      active.resetToCommitted();
      committer.restageSealed();
    } else while (active.tip !== failed.entry.parent) active.disconnectTip();
    invalid.markFailed(failed.entry, failed.rejection);
  }

  /** Writes what is sealed as soon as it is judged; not where a block of it is invalid. */
  async #commitSealed(): Promise<void> {
    const { active, committer } = this.#deps;
    if (!active.sealed) return;
    await this.waitForScripts(active.allVerified());
    if (!active.failedBlock()) committer.commitSealed();
  }
}

/**
 * Whether the scripts of a block may go unchecked, as Core decides it: it is an ancestor of the block that this version
 * names, on the best chain of headers, which has the least work it may have, and buried under two weeks of it.
 */
export function isAssumedValid(entry: ChainEntry, tree: HeaderTree, params: ConsensusParams): boolean {
  if (params.assumeValid === null) return false;
  const assumed = tree.findEntry(params.assumeValid);
  const { bestHeader } = tree;
  return (
    assumed !== null &&
    assumed.ancestor(entry.height) === entry &&
    bestHeader.ancestor(entry.height) === entry &&
    bestHeader.chainwork >= params.minimumChainWork &&
    proofEquivalentTime(bestHeader, entry, bestHeader, params.powTargetSpacing) > BURIED_S
  );
}
