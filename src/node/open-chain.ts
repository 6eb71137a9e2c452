import type { Database } from 'bun:sqlite';
import { Chain } from '../chain/chain.ts';
import type { ChainDeps, StoredGenesis } from '../chain/chain-options.ts';
import type { Config } from '../config/settings.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { moveChainData, syncAgainAdvice } from '../storage/chain-folder.ts';
import { SeqFloor } from '../storage/seq-floor.ts';
import type { GivenEventNumbers } from './given-event-numbers.ts';
import { blockFileOptionsOf } from './prune-settings.ts';
import { storageProblem } from './storage-problem.ts';

const MEBIBYTE = 1024 * 1024;
/** Memory for pages of the writer's database, MiB. */
const DATABASE_CACHE_MIB = 64;

/** The sizes of the caches of a configuration. */
export function cacheSizesOf({ storage }: Config): {
  readonly coinsCacheMiB: number;
  readonly databaseCacheMiB: number;
} {
  return { coinsCacheMiB: storage.coinsCache, databaseCacheMiB: DATABASE_CACHE_MIB };
}

interface ChainSources {
  /** The database of the node's own state beside the chain. */
  readonly database: Database;
  readonly given: Pick<GivenEventNumbers, 'mark'>;
  /** Opens the chain of an unfinished reindex. */
  readonly reindex: StoredGenesis | undefined;
}

/** Opens the chain of a configuration. Throws OperatorError where its directory cannot be used. */
export function openChain(
  config: Config,
  params: NetworkParams,
  { database, given, reindex }: ChainSources,
  deps: ChainDeps,
): Chain {
  const { coinsCacheMiB, databaseCacheMiB } = cacheSizesOf(config);
  try {
    moveChainData(config.chainDir);
    return new Chain(
      {
        dir: config.chainDir,
        params,
        coinsCacheBytes: coinsCacheMiB * MEBIBYTE,
        databaseCacheMiB,
        filters: config.index.filter,
        maxTipAge: config.chain.initialSyncAge,
        lastHeight: config.chain.stopAtHeight || undefined,
        indexes: config.index,
        ...blockFileOptionsOf(config, params),
        removeDisabledIndexes: config.index.removeDisabled,
        seqFloor: new SeqFloor(database),
        eventMark: given.mark,
        reindex,
      },
      deps,
    );
  } catch (error) {
    throw storageProblem(error, config.chainDir, syncAgainAdvice(config.chainDir));
  }
}
