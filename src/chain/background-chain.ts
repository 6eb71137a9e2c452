import type { ConsensusParams } from '../consensus/consensus-params.ts';
import type { BlockRejection } from '../consensus/rejection.ts';
import type { ChainTotals } from '../storage/header-store.ts';
import { noteProgress } from '../util/progress.ts';
import { ActiveChain } from './active-chain.ts';
import { isAssumedValid } from './best-chain.ts';
import { type ChainEntry, forkPoint } from './chain-entry.ts';
import type { ChainStore } from './chain-store.ts';
import type { HeaderTree } from './header-tree.ts';
import type { ChainAt } from './loaded-set-writer.ts';
import type { ScriptVerifier } from './script-verifier.ts';

/** A commit is due after this many inputs and outputs, or after this time. */
const COINS_PER_COMMIT = 500_000;
const COMMIT_INTERVAL_MS = 5_000;
/** Time and number of blocks after which a step ends, so that new blocks of the active chain do not wait. */
const STEP_MS = 200;
const STEP_BLOCKS = 256;

export interface BackgroundDeps {
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  /** The chain on the loaded set. */
  readonly active: ActiveChain;
  readonly verifier: ScriptVerifier;
  readonly params: ConsensusParams;
  readonly cacheBytes: number;
}

/** A block of the background chain that breaks a rule. */
export interface BackgroundFailure {
  readonly entry: ChainEntry;
  readonly rejection: BlockRejection;
}

/**
 * The chain that is validated behind a loaded UTXO set, with coins of its own. It connects stored blocks up to the base of
 * the set, where its coins are compared with the set, and then further up to the tip of the active chain, whose coins it
 * replaces: its coins know the positions of their transactions.
 */
export class BackgroundChain {
  readonly base: ChainEntry;
  /** Whether the loaded set equals the coins of this chain at the base. */
  validated: boolean;
  readonly #deps: BackgroundDeps;
  readonly #chain: ActiveChain;
  /** Totals up to the committed tip. */
  #totals: ChainTotals;
  /** Monotonic time of the last commit, milliseconds. */
  #committedAt = performance.now();

  constructor(deps: BackgroundDeps, base: ChainEntry, { tip, totals }: ChainAt, validated: boolean) {
    this.#deps = deps;
    this.base = base;
    this.validated = validated;
    this.#totals = totals;
    const { store, params, cacheBytes } = deps;
    const source = {
      coins: store.backgroundCoins,
      // The row of its height may be that of another block.
      headers: { totals: () => this.#totals },
      readBlock: (entry: ChainEntry) => store.readBlock(entry),
      readUndo: (entry: ChainEntry) => store.readUndo(entry),
      filters: null,
      indexes: { isLive: () => false },
    };
    this.#chain = new ActiveChain(source, params, tip, cacheBytes);
  }

  /** The last validated block. */
  get tip(): ChainEntry {
    return this.#chain.committedTip;
  }

  /** The block up to which this chain goes now. */
  get target(): ChainEntry {
    return this.validated ? this.#deps.active.committedTip : this.base;
  }

  /** Whether the next block can be connected, or connected ones be committed. */
  get canAdvance(): boolean {
    const { target } = this;
    const { tip, hasStaged } = this.#chain;
    if (hasStaged) return true;
    if (tip === target) return false;
    return target.ancestor(tip.height) !== tip || (target.ancestor(tip.height + 1)?.hasBody ?? false);
  }

  /** Returns up to `count` blocks that are missing within a window above the tip, the lowest first. */
  missingBlocks(count: number, window: number, isWanted: (entry: ChainEntry) => boolean): ChainEntry[] {
    const { target, tip } = this;
    const missing: ChainEntry[] = [];
    const from = forkPoint(target, tip).height + 1;
    for (let height = from; height <= Math.min(target.height, from + window) && missing.length < count; height++) {
      const entry = target.ancestor(height)!;
      if (!entry.hasBody && isWanted(entry)) missing.push(entry);
    }
    return missing;
  }

  /**
   * Connects stored blocks for a moment, and commits them when that is due. `wait` waits for script results; `commitBodies`
   * commits the bodies that were stored before. Returns the first invalid block, or null. Within a call of the chain's
   * queue.
   */
  async advance(
    wait: (results: Promise<void>) => Promise<void>,
    commitBodies: () => Promise<void>,
  ): Promise<BackgroundFailure | null> {
    const { store, tree, verifier, params } = this.#deps;
    const chain = this.#chain;
    const { target } = this;
    const until = performance.now() + STEP_MS;
    let failure: BackgroundFailure | null = null;
    // Blocks may have left the branch of the target. That is committed by itself: where a block fails, the active chain ends
    // at the committed tip, which must be on its branch.
    let left = false;
    while (chain.tip.height > target.height || target.ancestor(chain.tip.height) !== chain.tip) {
      chain.disconnectTip();
      left = true;
    }
    for (let n = 0; !left && n < STEP_BLOCKS && performance.now() < until && chain.tip !== target; n++) {
      noteProgress();
      const entry = target.ancestor(chain.tip.height + 1)!;
      if (!entry.hasBody) break;
      const scripts = isAssumedValid(entry, tree, params) ? null : verifier;
      const connected = chain.connectBlock(entry, store.readBlock(entry), scripts);
      if (!connected.ok) {
        failure = { entry, rejection: connected };
        break;
      }
      await new Promise(setImmediate);
      await wait(chain.belowPendingLimit());
    }
    const next = target.ancestor(chain.tip.height + 1);
    const ends = failure !== null || chain.tip === target || !next?.hasBody;
    const isDue = performance.now() - this.#committedAt >= COMMIT_INTERVAL_MS || chain.rowCount >= COINS_PER_COMMIT;
    if (!chain.hasStaged || !(left || ends || isDue)) return chain.failedBlock() ?? failure;
    await wait(chain.allVerified());
    const failed = chain.failedBlock();
    if (failed !== null) return failed;
    await commitBodies();
    const { base, validated } = this;
    const { totals } = chain;
    store.loadedSet.commitBackground(chain.sealStaged(), { base, validated, totals });
    this.#totals = totals;
    chain.markCommitted();
    this.#committedAt = performance.now();
    return failure;
  }
}
