import { expect, test } from 'bun:test';
import { directoryWith } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, freePort, tempDir } from '../lib/node-process.ts';
import { hashOfTip, sameCoins, sameTip, startPeer } from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';

cleanUpAfterTests({ each: true });

test('a node killed again and again while it syncs continues where it was', async () => {
  const chain = recentChain(240, { payments: 2 });
  const source = await startPeer([], { datadir: await directoryWith(chain) });
  const datadir = tempDir();
  const p2pPort = await freePort();
  const seen: number[] = [];
  for (const height of [1, 25, 80, 150]) {
    const { node } = await startPeer([source.address], { datadir, p2pPort });
    // The blocks committed before the last end are there at once.
    const first = (await node.api.json<{ height: number }>('/api/info')).height;
    expect(first).toBeGreaterThanOrEqual(seen.at(-1) ?? 0);
    seen.push(await node.height(height, 20_000));
    expect(await node.stop('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
  }
  const { node } = await startPeer([source.address], { datadir, p2pPort });
  await sameTip([node], hashOfTip(chain));
  console.log(`killed at heights ${seen.join(', ')} of 240`);
  await sameCoins(node, source.node, 240);
  await Promise.all([node.stop(), source.node.stop()]);
});
