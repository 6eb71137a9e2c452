import { join } from 'node:path';
import { difficultyOf } from '../../consensus/work.ts';
import type { ApiOptions } from '../../http/options.ts';
import type { NodePort } from '../../port/node-port.ts';
import { headerFromBytes } from '../../primitives/header.ts';
import type { ChainReads } from '../../storage/chain-reads.ts';
import { enabledIndexes, type IndexSwitches } from '../../storage/index-store.ts';
import type { GaugeSources } from './metrics.ts';
import { fileSize } from './readiness.ts';

/** Returns the state of the chain for its gauges, read on one snapshot. */
export function chainGauges(
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
export async function databaseSizes({ networkDir, chainDir }: Pick<ApiOptions, 'networkDir' | 'chainDir'>) {
  const sizes = ['chain', 'node', 'auth', 'watches'].map(async (name) => {
    const path = join(name === 'chain' ? chainDir : networkDir, `${name}.db`);
    return { name, bytes: await fileSize(path), walBytes: await fileSize(`${path}-wal`) };
  });
  return Promise.all(sizes);
}
