import { PortFence } from '../port/port-fence.ts';
import { restRoutes } from '../rest/rest-routes.ts';
import { rpcRoutes } from '../rpc/rpc-routes.ts';
import { FirstFront } from '../server/fronts/first-front.ts';
import { FrontMemory } from '../server/fronts/front-memory.ts';
import { startApi } from '../server/server.ts';
import { ChainReads } from '../storage/chain-reads.ts';
import { hostClock } from '../util/clock.ts';
import { endReserve, reserveDescriptors } from '../util/descriptors.ts';
import { processLog } from '../util/process-log.ts';
import { shortenTimeSlice } from '../util/time-slice.ts';
import { acceptHold, announceStart, releaseStartedThreads } from '../util/worker.ts';
import { apiOptionsOf, readSourcesOf } from './api-options.ts';
import { NodeLink } from './client.ts';
import { paramsOfConfig } from './config-params.ts';
import { collectGarbage } from './first-collection.ts';
import type { FromFront, ToFront } from './front-messages.ts';
import type { FromNode } from './node-messages.ts';

declare const self: Worker;

announceStart();
// Descriptors for a wallet's files; the thread must not wait for them, since it answers requests.
reserveDescriptors(8, 0);
acceptHold.start();
shortenTimeSlice();

/** Starts a further front: it receives all updates of the node before it listens. */
self.onmessage = async ({ data }: MessageEvent<ToFront>) => {
  const { config, staticKey, budget, index, fronts, from, status, nodePort, firstPort, startedAt, addresses, columns } =
    data;
  const log = processLog(config.log);
  const params = paramsOfConfig(config);
  const options = apiOptionsOf(config, staticKey, budget);
  const fence = new PortFence(fronts, index, data.fence);
  const node = new NodeLink({ postMessage: (messages) => nodePort.postMessage(messages) }, fence);
  node.receive({ type: 'opened', status });
  nodePort.on('message', (messages: readonly Exclude<FromNode, { type: 'failed' | 'closed' | 'stopHeight' }>[]) => {
    for (const message of messages) node.receive(message);
  });
  // The node thread answers behind all pushes that wait in the port.
  await node.call('echo');
  const memory = new FrontMemory(options.limits.authFailuresPerMinute, hostClock, data.buffers);
  const first = new FirstFront(firstPort);
  const reads = new ChainReads(config.chainDir, { isFrequent: true });
  const api = startApi({
    options,
    params,
    log,
    startedAt,
    sources: readSourcesOf(config, params),
    plugins: [restRoutes, rpcRoutes],
    columns,
    sharing: { memory, first, further: null },
    // The node thread stops at the same time, and its errors are those of a stop.
    onStopping: () => node.stopCalls(),
    onStopped: () => {
      reads.close();
      acceptHold.end();
      endReserve();
      releaseStartedThreads();
    },
  });
  api.openStores();
  api.attach({ node, reads, from });
  collectGarbage();
  await api.openFurther(addresses);
  node.publishTo(fence, () => api.updatesApplied());
  self.postMessage('listening' satisfies FromFront);
};

self.postMessage('loaded' satisfies FromFront);
