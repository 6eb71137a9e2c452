import type { MempoolTotals } from '../mempool/changes.ts';
import type { MempoolMirror } from '../mempool/mirror.ts';
import type { RelayOptions } from '../policy/relay-options.ts';

/** Returns totals of the mempool, with current counts. Before the first update it is empty and not loaded. */
export function mempoolTotals({
  mempool,
  settings: { relay },
}: {
  readonly mempool: MempoolMirror;
  readonly settings: { readonly relay: RelayOptions };
}): MempoolTotals {
  const { entries, totals } = mempool;
  const { vsize, size, fee, bytes } = entries.totals;
  const stated = totals ?? {
    maxUsage: relay.maxMempoolBytes,
    minFeerate: Number(relay.minRelayFeerate),
    minRelayFeerate: Number(relay.minRelayFeerate),
    incrementalFeerate: Number(relay.incrementalFeerate),
    sequence: 1,
    loaded: false,
  };
  return {
    ...stated,
    count: entries.count,
    vsize,
    size,
    usage: bytes,
    totalFee: fee,
    unbroadcast: mempool.unbroadcastCount,
  };
}
