import type { Chain } from '../../chain/chain.ts';
import { BACKGROUND_CACHE_SHARE } from '../../chain/loaded-utxo-set.ts';
import type { Config } from '../../config/settings.ts';
import type { MempoolService } from '../../mempool/service.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import type { CallTable, NodeCalls } from '../../port/node-calls.ts';
import type { WalletCalls } from '../../port/wallet-node-calls.ts';
import type { ScenarioChain } from '../../sandbox/sandbox-chain.ts';
import { scenarioCalls } from '../../sandbox/scenario-calls.ts';
import { Scenarios } from '../../sandbox/scenarios.ts';
import type { Clock } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import type { IndexBuilds } from '../index-builds.ts';
import { miningOptionsOf } from '../mining-limits.ts';
import { cacheSizesOf } from '../open-chain.ts';
import type { PeerNetwork } from '../peer-network.ts';
import type { StateSampler } from '../state-sampler.ts';
import type { Wallets } from '../wallets.ts';
import { backupCalls } from './backup-calls.ts';
import { chainCalls } from './chain-calls.ts';
import { mempoolCalls } from './mempool-calls.ts';
import { miningCalls } from './mining-calls.ts';
import { networkCalls } from './network-calls.ts';
import { utxoSetCalls } from './utxo-set-calls.ts';

const MEBIBYTE = 1024 * 1024;

/** The parts of the node that the calls use. */
interface CallParts {
  readonly config: Config;
  readonly params: NetworkParams;
  readonly chain: Chain;
  readonly mempool: MempoolService;
  readonly network: PeerNetwork | null;
  readonly wallets: Wallets | null;
  readonly sampler: StateSampler;
  readonly indexBuilds: IndexBuilds;
  readonly sandbox: ScenarioChain | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts long calls when the node stops. */
  readonly signal: AbortSignal;
}

/** Returns all calls of the main thread except those of wallets. */
export function callTable({
  config,
  params,
  chain,
  mempool,
  network,
  wallets,
  sampler,
  indexBuilds,
  sandbox,
  clock,
  log,
  signal,
}: CallParts): Omit<CallTable<NodeCalls>, keyof WalletCalls> {
  const { coinsCacheMiB, databaseCacheMiB } = cacheSizesOf(config);
  return {
    echo: () => null,
    sampledSeries: (request) => sampler.readSeries(request),
    ...chainCalls(
      { chain, consensus: params.consensus, signal },
      {
        database: databaseCacheMiB * MEBIBYTE,
        table: coinsCacheMiB * MEBIBYTE,
        background: Math.floor(coinsCacheMiB * MEBIBYTE * BACKGROUND_CACHE_SHARE),
      },
    ),
    ...utxoSetCalls({
      chain,
      isMempoolEmpty: () => mempool.mempool.totals().count === 0,
      loadedWallets: () => wallets?.manager.states.length ?? 0,
      onActivated: () => {
        void indexBuilds.buildFilters();
        void indexBuilds.buildIndexes();
      },
    }),
    ...backupCalls({ config, params, chain, log }),
    ...mempoolCalls(mempool, config.networkDir, {
      log: log.category('mempool'),
      signal,
      scheduler: () => network?.privateScheduler ?? null,
    }),
    ...miningCalls(
      {
        chain,
        mempool: mempool.mempool,
        clock,
        limits: miningOptionsOf(config),
        blockVersion: config.consensus.blockVersion,
        onMockTime: () => network?.manager?.checkTimers(),
      },
      signal,
    ),
    ...networkCalls(network, {
      chain,
      clock,
      onTimersAdvanced: async (ms) => wallets?.manager.follower.advanceTimer(ms),
    }),
    ...scenarioCalls(sandbox && new Scenarios({ chain: sandbox, params, clock })),
  };
}
