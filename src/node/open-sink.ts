import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Config } from '../config/settings.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { chainNameOf } from '../params/signet.ts';
import { type SinkMempool, SinkThread } from '../sink/sink-thread.ts';
import type { Log } from '../util/log.ts';

/** Random bytes that distinguish a process from others of the same host and service. */
const LEADER_BYTES = 4;

/** Returns the thread of the sink, which is not started yet; null where the configuration names none. */
export function openSink(
  config: Config,
  params: NetworkParams,
  parts: { readonly log: Log; readonly mempool: SinkMempool },
): SinkThread | null {
  const { postgres: url, mempoolEvents } = config.sink;
  if (url === null) return null;
  return new SinkThread(
    {
      chainDir: config.chainDir,
      url,
      network: chainNameOf(params),
      halvingInterval: params.consensus.subsidyHalvingInterval,
      leader: `${config.service.name}@${hostname()} ${randomBytes(LEADER_BYTES).toHex()}`,
      mempoolEvents,
    },
    parts,
  );
}
