import { expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { addressOf } from '../../src/script/address.ts';
import { nodeWith, submit } from '../lib/mempool-node.ts';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, poll, startNode } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { lockOf } from '../lib/tx-builder.ts';

cleanUpAfterTests();

const OFF = ['--index.tx=false', '--index.address=false'];

/** Imports an address into a new wallet, and returns what the wallet has found. */
async function found(api: ApiClient, name: string) {
  await api.rpc('createwallet', [name, true, true]);
  const script = lockOf('p2wpkh').scriptPubKey;
  const { descriptor } = await api.rpc<{ descriptor: string }>('getdescriptorinfo', [
    `addr(${addressOf(script, regtest.address)})`,
  ]);
  const [outcome] = await api.rpc<{ success: boolean }[]>('importdescriptors', [[{ desc: descriptor, timestamp: 0 }]]);
  expect(outcome).toEqual({ success: true });
  const { mine } = await api.rpc<{ mine: object }>('getbalances');
  const list = await api.rpc<{ txid: string; amount: number; category: string; blockheight: number }[]>(
    'listtransactions',
    { count: 10_000 },
  );
  return { mine, list: list.map((each) => `${each.blockheight} ${each.txid} ${each.category} ${each.amount}`).sort() };
}

test('a wallet finds its transactions without the indexes, and the indexes are built when they are on again', async () => {
  const chain = recentChain(130, { payments: 3 });
  const node = await nodeWith(chain, OFF);
  const { datadir } = node;
  // From this block on the indexes are behind.
  await submit(node.api, chain.mine(1));
  expect((await node.api.request(`/api/tx/${'00'.repeat(32)}`)).status).toBe(501);
  const without = await found(node.api, 'blocks');
  expect(without.list.length).toBeGreaterThan(100);
  await node.stop();
  const again = await startNode({ datadir });
  await poll('the indexes', async () => {
    const { txindex } = await again.api.rpc<{ txindex: { synced: boolean } }>('getindexinfo');
    return txindex.synced;
  });
  await again.api.rpc('unloadwallet', ['blocks']).catch(() => {});
  expect(await found(again.api, 'index')).toEqual(without);
  await again.stop();
});
