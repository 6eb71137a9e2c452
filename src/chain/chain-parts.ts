import type { ConsensusParams } from '../consensus/consensus-params.ts';
import { genesisBlock } from '../params/genesis.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type ParsedBlock, parseBlock } from '../primitives/block.ts';
import type { FilePosition } from '../storage/block-files.ts';
import { syncAgainAdvice } from '../storage/chain-folder.ts';
import { isDamage } from '../storage/database.ts';
import { mergeRuns } from '../storage/runs/merge-runs.ts';
import { DecodeError } from '../util/bytes.ts';
import type { Clock } from '../util/clock.ts';
import { noteProgress } from '../util/progress.ts';
import { SerialQueue } from '../util/serial-queue.ts';
import { ActiveChain } from './active-chain.ts';
import { BestChain } from './best-chain.ts';
import { BlockIntake } from './block-intake.ts';
import { ChainCommitter } from './chain-committer.ts';
import type { ChainEntry } from './chain-entry.ts';
import type { ChainDeps, ChainOptions } from './chain-options.ts';
import { ChainStore } from './chain-store.ts';
import { ChainWarnings } from './chain-warnings.ts';
import { checkSegwitHeight } from './check-segwit-height.ts';
import { HeaderTree } from './header-tree.ts';
import { InitialSync } from './initial-sync.ts';
import { InvalidBlocks } from './invalid-blocks.ts';
import { LoadedUtxoSet } from './loaded-utxo-set.ts';
import { checkPruning, Pruner } from './pruner.ts';
import type { ScriptVerifier } from './script-verifier.ts';
import { StageTimings } from './stage-timings.ts';

/** The parts of a chain. */
export interface ChainParts {
  readonly network: NetworkParams;
  readonly params: ConsensusParams;
  readonly store: ChainStore;
  readonly tree: HeaderTree;
  readonly active: ActiveChain;
  readonly sync: InitialSync;
  readonly warnings: ChainWarnings;
  readonly queue: SerialQueue;
  readonly timings: StageTimings;
  readonly verifier: ScriptVerifier;
  readonly clock: Clock;
  readonly committer: ChainCommitter;
  /** Null if pruning is off. */
  readonly pruner: Pruner | null;
  readonly invalid: InvalidBlocks;
  readonly best: BestChain;
  readonly intake: BlockIntake;
  readonly loaded: LoadedUtxoSet;
}

/**
 * Opens the storage of a chain, or creates it with the genesis block, and builds the parts in the order of their
 * dependencies. Throws OperatorError.
 */
export function openChainParts(options: ChainOptions, deps: ChainDeps): ChainParts {
  const {
    dir,
    params: network,
    coinsCacheBytes,
    databaseCacheMiB,
    filters,
    indexes,
    seqFloor,
    eventMark,
    reindex,
  } = options;
  // The files of a reindex hold blocks that it does not know yet.
  const prune = reindex ? undefined : options.prune;
  const { verifier, clock, log } = deps;
  const queue = new SerialQueue('the chain', (error) => {
    const advice = error instanceof DecodeError || isDamage(error) ? syncAgainAdvice(dir) : null;
    log.error('block processing stopped', { error, ...(advice !== null && { advice }) });
    deps.onStopped?.(error);
  });
  const timings = new StageTimings(clock);
  const store = new ChainStore(dir, network, {
    cacheMiB: databaseCacheMiB,
    filters,
    indexes,
    removeDisabledIndexes: options.removeDisabledIndexes,
    seqFloor,
    eventMark,
    reindex: reindex !== undefined,
    fileLimit: options.fileLimit,
    clock,
    log,
    mergeRuns: deps.mergeRuns ?? (async (job) => mergeRuns(job)),
    buildRuns: deps.buildRuns,
    isStopping: deps.isStopping,
  });
  try {
    const tree = new HeaderTree();
    const assumed = store.loadedSet.storedSet()?.base ?? null;
    for (const record of store.headers.all()) {
      noteProgress();
      tree.loadRecord(record, assumed);
    }
    const tip = store.headers.tip();
    const genesis = parseBlock(genesisBlock(network));
    const entry = tip ? tree.findEntry(tip.hash)! : tree.insertHeader(genesis.hash, genesis.header, null);
    tree.preferChain(entry);
    store.open(tip && entry, (hash) => tree.findEntry(hash));
    checkPruning(store, dir, prune !== undefined);
    const params = network.consensus;
    checkSegwitHeight(store, dir, params.segwitHeight, tip && entry.height);
    const active = new ActiveChain(store, params, entry, coinsCacheBytes);
    const sync = new InitialSync(params, clock, options.maxTipAge);
    const warnings = new ChainWarnings({ tree, sync, params: network, log });
    const parts = { store, tree, active, sync, warnings, queue, timings, verifier, params, clock, log };
    const committer = new ChainCommitter({ ...parts, params: network });
    const uncommitted = () => committer.uncommittedBodies();
    const pruner = prune ? new Pruner(prune, { ...parts, uncommitted }) : null;
    committer.pruner = pruner;
    pruner?.addLock('loaded set', () => loaded.background?.tip.height ?? null);
    pruner?.removeUnreferenced();
    const invalid = new InvalidBlocks(tree, committer, log);
    const lastHeight = options.lastHeight ?? Number.POSITIVE_INFINITY;
    const validating = { ...parts, committer, invalid, lastHeight };
    const best = new BestChain(validating);
    const intake = new BlockIntake({ ...validating, best });
    const loaded = new LoadedUtxoSet({ ...validating, best, network, coinsCacheBytes });
    const built: ChainParts = { ...validating, network, pruner, best, intake, loaded };
    if (!tip) commitGenesis(built, { entry, genesis, position: reindex?.genesis ?? null });
    loaded.open();
    committer.committed.subscribe(() => loaded.schedule());
    loaded.schedule();
    sync.update(active.committedTip);
    warnings.update(active.committedTip);
    // The last run may have ended before a better chain was activated. A failure is kept in `stopped`.
    if (tree.bestCandidate(active.committedTip) !== active.committedTip)
      queue.run(() => best.activateBestChain()).catch(() => {});
    return built;
  } catch (error) {
    store.close();
    throw error;
  }
}

interface GenesisBlock {
  readonly entry: ChainEntry;
  readonly genesis: ParsedBlock;
  /** Where the block files hold it; null where they do not. */
  readonly position: FilePosition | null;
}

/** Makes the first commit, which holds the genesis block. */
function commitGenesis(
  { committer, intake, active, store }: ChainParts,
  { entry, genesis, position }: GenesisBlock,
): void {
  committer.addHeader(entry);
  intake.storeBlock(entry, genesis, position);
  active.stageGenesis(genesis);
  committer.sealChanges();
  committer.commitSealed();
  // A later start takes block files without a genesis block in the database for those of a database that is gone.
  store.checkpoint();
}
