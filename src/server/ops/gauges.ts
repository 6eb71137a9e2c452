import { join } from 'node:path';
import type { AuditLog } from '../../auth/audit/audit-log.ts';
import type { Authenticator } from '../../auth/authenticator.ts';
import { difficultyOf } from '../../consensus/work.ts';
import type { ApiOptions } from '../../http/options.ts';
import type { NodePort } from '../../port/node-port.ts';
import { headerFromBytes } from '../../primitives/header.ts';
import { blockFileBytes } from '../../queries/block-file-bytes.ts';
import type { ChainReads } from '../../storage/chain-reads.ts';
import { enabledIndexes, type IndexSwitches } from '../../storage/index-store.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import type { Hub } from '../../ws/hub.ts';
import type { ServerContext } from '../context.ts';
import { fileSize } from './readiness.ts';
import type { GaugeSources } from './state-gauges.ts';
import { collectWalletBalances } from './wallet-balances.ts';

/** Returns the state of the chain for its gauges, read on one snapshot. */
function chainGauges(
  { node, reads }: { readonly node: NodePort; readonly reads: ChainReads },
  switches: IndexSwitches,
): ReturnType<GaugeSources['chain']> {
  return reads.snapshot(() => {
    const tip = reads.tip();
    const { time, bits } = headerFromBytes(tip.header);
    const { headers, verificationProgress, initialBlockDownload, unknownRules, heavierInvalidChain, background } =
      node.status();
    const totals = reads.headers.totals(tip.height);
    return {
      height: tip.height,
      headers,
      tipTime: time,
      difficulty: difficultyOf(bits),
      verificationProgress,
      initialBlockDownload,
      unknownRules: unknownRules.length > 0,
      heavierInvalidChain,
      circulating: totals?.circulating ?? null,
      utxos: totals?.utxos ?? null,
      pruneHeight: reads.pruneHeight(),
      validatedHeight: background === null || background.validated ? tip.height : background.height,
      indexHeights: enabledIndexes(switches)
        .filter((name) => name !== 'positions')
        .map((name) => ({ name, height: Math.max(0, reads.indexes.covered(name)?.height ?? 0) })),
    };
  });
}

/** Returns the sizes of the databases. */
async function databaseSizes({ networkDir, chainDir }: Pick<ApiOptions, 'networkDir' | 'chainDir'>) {
  const sizes = ['chain', 'node', 'auth', 'watches', 'webhooks'].map(async (name) => {
    const path = join(name === 'chain' ? chainDir : networkDir, `${name}.db`);
    return { name, bytes: await fileSize(path), walBytes: await fileSize(`${path}-wal`) };
  });
  return Promise.all(sizes);
}

/** The parts of a server that its gauges read; most are made after the metrics. */
export interface GaugeParts {
  /** Null until the node is attached. */
  readonly attachment: { readonly node: NodePort; readonly reads: ChainReads } | null;
  readonly context: ServerContext;
  readonly hub: Hub;
  readonly audit: Pick<AuditLog, 'writable'>;
  readonly auth: Pick<Authenticator, 'hasInitialKeyFile' | 'sessions'>;
  readonly indexes: IndexSwitches;
  readonly webhooks: Pick<Webhooks, 'gauges'>;
}

/** Returns the sources of the gauges that belong to a running server. */
export function serverGauges(
  options: ApiOptions,
  parts: () => GaugeParts,
): Omit<GaugeSources, 'cacheReady' | 'threads' | 'uptimeSeconds'> {
  const mirror = () => parts().context.mempool.mirror;
  const node = () => parts().attachment?.node;
  return {
    chain() {
      const { attachment, indexes } = parts();
      return attachment && chainGauges(attachment, indexes);
    },
    mempool() {
      const { totals, entries } = mirror();
      return totals && { ...totals, count: entries.count };
    },
    counters: () => node()?.counters() ?? null,
    fees: () => mirror().fees,
    sink: () => node()?.status().sink ?? null,
    eventsSeq: () => (node() ? parts().context.events.latest : null),
    blockFileBytes: () => blockFileBytes(options.chainDir),
    databases: () => databaseSizes(options),
    wallets: () => node()?.status().wallets ?? [],
    walletBalances: options.metrics.walletBalances ? () => collectWalletBalances(parts().context) : null,
    wsConnections: () => parts().hub.size,
    wsBackpressured: () => parts().hub.backpressured,
    wsWatched: () => ({ connection: parts().hub.watched, key: parts().context.watches.total }),
    txCache: () => parts().context.queries.textCounts,
    webhooks: () => parts().webhooks.gauges(),
    auditWritable: () => parts().audit.writable,
    sessions: () => parts().auth.sessions.size,
    initialKeyFile: () => parts().auth.hasInitialKeyFile,
  };
}
