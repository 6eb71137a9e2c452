import type { Chain } from '../chain/chain.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { NodeStatus } from '../port/node-port.ts';
import { hashToHex } from '../primitives/hash.ts';
import { SEED_BLOCKS } from '../sandbox/sandbox.ts';
import type { SinkThread } from '../sink/sink-thread.ts';
import type { WalletManager } from '../wallet/wallet-manager.ts';
import { backgroundStatus } from './background-status.ts';
import type { IndexBuilds } from './index-builds.ts';
import type { PeerNetwork } from './peer-network.ts';
import { syncState } from './sync-state.ts';
import { verificationProgress } from './verification-progress.ts';

interface StatusParts {
  readonly chain: Chain;
  readonly params: NetworkParams;
  readonly indexBuilds: IndexBuilds;
  /** Null where the configuration disables the peer network. */
  readonly network: PeerNetwork | null;
  /** Null where the configuration disables wallets. */
  readonly wallets: WalletManager | null;
  readonly sink: SinkThread | null;
  /** The error of a worker that stopped block processing. */
  readonly failure: Error | null;
  /** Whether the sandbox mines blocks by itself. */
  readonly isSeeding: boolean;
  /** Unix seconds. */
  readonly now: number;
}

/** Returns the status that the node thread reports once a second and after each commit. */
export function nodeStatus(parts: StatusParts): NodeStatus {
  const { chain, params, indexBuilds, network, wallets, sink, failure, isSeeding, now } = parts;
  const { tip, bestHeader } = chain;
  const ahead = bestHeader.height - tip.height;
  return {
    headers: bestHeader.height,
    bestHeaderHash: hashToHex(bestHeader.hash),
    initialBlockDownload: chain.initialSync,
    verificationProgress: verificationProgress({ time: tip.time, txs: chain.transactions, ahead }, params, now),
    lastCommit: chain.lastCommit,
    connectingBlock: chain.connecting,
    stopped: (chain.stopped ?? failure)?.message ?? null,
    background: backgroundStatus(chain, params, now),
    indexProblem: indexBuilds.problem,
    preparing: isSeeding && tip.height < SEED_BLOCKS ? 'the sandbox mines its first blocks' : null,
    peers: network?.counts() ?? { inbound: 0, outbound: 0 },
    sync: network?.sync() ?? syncState(chain, null, now),
    network: network?.status() ?? null,
    heavierInvalidChain: chain.warnings.invalidChain,
    unknownRules: chain.warnings.unknownRules,
    warnings: [...chain.warnings.messages, ...(network?.warnings() ?? []), ...indexWarnings(indexBuilds)],
    ...(sink && { sink: sink.status }),
    ...(wallets && {
      wallets: wallets.states,
      walletsFailed: wallets.failed,
      walletsMissing: wallets.missing,
      walletsWaiting: wallets.waiting,
    }),
  };
}

function indexWarnings({ problem: stopped }: IndexBuilds): string[] {
  if (stopped === null) return [];
  const { indexes, problem } = stopped;
  return [`The build of the indexes ${indexes.join(', ')} has stopped: ${problem}`];
}
