import type { ConsensusParams } from '../consensus/consensus-params.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { Listeners } from '../util/listeners.ts';
import type { Log } from '../util/log.ts';
import { noteProgress } from '../util/progress.ts';
import type { ActiveChain } from './active-chain.ts';
import { assumedValid } from './assume-valid.ts';
import { type ChainEntry, forkOf } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import type { Commits } from './commits.ts';
import type { HeaderTree } from './header-tree.ts';
import type { InitialSync } from './initial-sync.ts';
import type { InvalidBlocks } from './invalid-blocks.ts';
import type { ScriptVerifier } from './script-verifier.ts';
import type { StageTimings } from './stage-timings.ts';
import type { Turns } from './turns.ts';

export interface BestChainDeps {
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  readonly active: ActiveChain;
  readonly commits: Commits;
  readonly invalid: InvalidBlocks;
  readonly sync: InitialSync;
  readonly turns: Turns;
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
  readonly connected: Listeners<[inputs: number]>;
  readonly #deps: BestChainDeps;

  constructor(deps: BestChainDeps) {
    this.#deps = deps;
    this.connected = new Listeners('block connected', deps.log);
  }

  /** Moves to the best chain there is, block by block; `block` is the body of `arrived`. */
  async activate(arrived: ChainEntry | null = null, block: ParsedBlock | null = null): Promise<void> {
    const { active, tree, store, commits, invalid, sync, timings, params, verifier } = this.#deps;
    for (;;) {
      this.#dropFailed();
      const best = tree.bestCandidate(active.tip);
      if (best === active.tip) break;
      const fork = forkOf(active.tip, best);
      if (fork !== active.tip) await this.#writeSealed();
      if (active.failure()) continue;
      while (active.tip !== fork) {
        noteProgress();
        active.disconnectTip();
      }
      while (active.tip !== best) {
        noteProgress();
        const entry = best.ancestor(active.tip.height + 1)!;
        const body = entry === arrived && block ? block : store.readBlock(entry);
        const judge = assumedValid(entry, tree, params) ? null : verifier;
        const connected = timings.timed('connect', () => active.connect(entry, body, judge));
        if (!connected.ok) {
          invalid.fail(entry, connected);
          break;
        }
        this.connected.tell(connected.value.inputs);
        // Verdicts, peers and commands get their turn between blocks.
        await new Promise(setImmediate);
        await this.waitFor(active.room());
        if (active.failure()) break;
        if (active.sealed && active.sealedJudged) commits.write();
        // Readers stay on the old tip until the new branch has as much work.
        const ahead = active.tip.chainwork >= active.committedTip.chainwork;
        if (!active.sealed && ahead && commits.due) commits.seal();
      }
    }
    tree.pruneCandidates(active.tip);
    sync.update(active.tip);
    if (!sync.active) await this.settle();
  }

  /** Waits for every verdict and commits; where one is bad, moves to the best chain that is left first. */
  async settle(): Promise<void> {
    const { active, commits } = this.#deps;
    for (;;) {
      await this.waitFor(active.judged());
      if (!active.failure()) break;
      await this.activate();
    }
    if (active.sealed) commits.write();
    if (commits.pending) {
      commits.seal();
      commits.write();
    }
  }

  /** Commits what is judged, and leaves the rest. */
  async settleJudged(): Promise<void> {
    const { active, commits } = this.#deps;
    if (active.allJudged) await this.settle();
    else if (active.sealed && active.sealedJudged && !active.failure()) commits.write();
  }

  /**
   * Waits for verdicts. Rejects with ChainClosing where the chain is closed before they have come, or was and they are
   * not `ready`: by default those on the active chain.
   */
  async waitFor(verdicts: Promise<void>, ready = this.#deps.active.allJudged): Promise<void> {
    const { turns, timings } = this.#deps;
    await timings.waited(turns.wait(verdicts, ready));
  }

  /** Leaves a chain in which a block turned out to be invalid. */
  #dropFailed(): void {
    const { active, commits, invalid } = this.#deps;
    const failed = active.failure();
    if (!failed) return;
    if (active.sealed?.connected.some(({ entry }) => entry === failed.entry)) {
      // Nothing of it is written. It is rare, so what lies between is simply connected again.
      active.reset();
      commits.unseal();
    } else while (active.tip !== failed.entry.parent) active.disconnectTip();
    invalid.fail(failed.entry, failed.rejection);
  }

  /** Writes what is sealed as soon as it is judged; not where a block of it is invalid. */
  async #writeSealed(): Promise<void> {
    const { active, commits } = this.#deps;
    if (!active.sealed) return;
    await this.waitFor(active.judged());
    if (!active.failure()) commits.write();
  }
}
