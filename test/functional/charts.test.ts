import { expect, test } from 'bun:test';
import { broadcast, mempoolLoaded, nodeWith } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

interface Chart {
  readonly interval: number;
  readonly points: readonly (readonly [time: number, value: number])[];
}

const chartOf = (node: NodeProcess, series: string) =>
  node.api.json<Chart>(`/api/chart/${series}?range=24h&points=500`);

test('the state of the node is sampled, and the samples outlive a restart', async () => {
  const chain = recentChain(110);
  const first = await nodeWith(chain);
  const sampled = (node: NodeProcess) =>
    node.until('a sample', async () => {
      const chart = await chartOf(node, 'mempoolCount');
      return chart.points.length > 0 && chart;
    });
  const before = await sampled(first);
  expect(before.points.map(([, value]) => value)).toEqual([0]);
  await broadcast(first.api, sweep(chain.coin(1), 'p2tr'));
  await first.stop();
  const again = await startNode({ datadir: first.datadir, args: ['--p2p.enabled=false'] });
  await mempoolLoaded(again);
  // The samples of both runs: an empty mempool, and one with a transaction.
  const after = await again.until('the sample of the second run', async () => {
    const chart = await chartOf(again, 'mempoolCount');
    return chart.points.some(([, value]) => value > 0) && chart;
  });
  const values = after.points.map(([, value]) => value);
  // Both are in one interval, or in two.
  expect([[0.5], [0, 1]]).toContainEqual(values);
  expect((await chartOf(again, 'mempoolVsize')).points.at(-1)![1]).toBeGreaterThan(50);
  expect((await chartOf(again, 'peers')).points.at(-1)![1]).toBe(0);
}, 60_000);
