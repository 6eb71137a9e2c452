import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { BLOCK_VERSION, RegtestChain } from '../lib/chain-builder.ts';
import { cleanUpAfterTests, startNode, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

const PERIOD = 144;

test('the warning of unknown rules reaches JSON-RPC, REST and the metrics', async () => {
  const chain = new RegtestChain({ spacing: 60, startTime: Math.floor(Date.now() / 1000) - 3 * PERIOD * 60 });
  chain.mine(PERIOD - 1);
  chain.mine(PERIOD, { version: BLOCK_VERSION | (1 << 4) });
  chain.mine(PERIOD);
  const file = join(tempDir(), 'blocks.dat');
  chain.writeBootstrap(file, 1);
  const node = await startNode({ args: ['--import', file] });
  await node.height(chain.height);
  for (const method of ['getblockchaininfo', 'getnetworkinfo', 'getmininginfo'])
    expect((await node.api.rpc<{ warnings: string[] }>(method)).warnings).toContain(
      'Unknown new rules activated (versionbit 4)',
    );
  expect((await node.api.json<{ warnings: string[] }>('/api/info')).warnings).toContain(
    'Unknown new rules activated (versionbit 4)',
  );
  const metrics = (await node.api.request('/metrics')).text;
  expect(metrics).toContain('obverse_chain_warnings{kind="unknown_rules"} 1\n');
  expect(metrics).toContain('obverse_chain_warnings{kind="invalid_chain"} 0\n');
});
