import { expect, test } from 'bun:test';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { hexOf, idOf, nodeWith, post } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, freePort } from '../lib/node-process.ts';
import { rpcError } from '../lib/peer-node.ts';
import { sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests({ each: true });

interface Listed {
  readonly transactions: readonly {
    readonly txid: string;
    readonly hex: string;
    readonly attempts_remaining: number;
  }[];
}

const NOT_ENABLED = {
  code: -32601,
  message: "Private broadcast is not enabled. Ensure you're running Bitcoin Core with -privatebroadcast=1.",
};

test('transactions of clients are scheduled, listed and aborted, and are not in the mempool', async () => {
  const chain = chainWithCoins(2);
  // No proxy is there, so no connection is made.
  const onionProxy = `127.0.0.1:${await freePort()}`;
  const node = await nodeWith(chain, [
    '--p2p.privateBroadcast',
    `--p2p.onionProxy=${onionProxy}`,
    '--p2p.dnsSeeds=false',
  ]);
  const [one, other] = [1, 2].map((height) => sweep(chain.coin(height), 'p2wpkh'));
  const list = async () => (await node.api.rpc<Listed>('getprivatebroadcastinfo')).transactions;

  expect(await node.api.rpc<string>('sendrawtransaction', [hexOf(one!)])).toBe(idOf(one!));
  const { status, body } = await post<{ status: string }>(node.api, '/api/tx', { tx: hexOf(other!) });
  expect([status, body.status]).toEqual([200, 'scheduled']);
  expect(await node.api.rpc<string[]>('getrawmempool')).toEqual([]);
  expect((await list()).map(({ txid }) => txid).sort()).toEqual([idOf(one!), idOf(other!)].sort());
  expect((await list())[0]).toMatchObject({ hex: hexOf(one!), attempts_remaining: 1000, peers: [] });

  const aborted = await node.api.rpc<object>('abortprivatebroadcast', [idOf(one!)]);
  expect(aborted).toMatchObject({ removed_transactions: [{ txid: idOf(one!), hex: hexOf(one!) }] });
  expect((await list()).map(({ txid }) => txid)).toEqual([idOf(other!)]);
  expect(await rpcError(node, 'abortprivatebroadcast', [idOf(one!)])).toEqual({
    code: -5,
    message: 'Transaction not in private broadcast queue. Check getprivatebroadcastinfo.',
  });
});

test('without the setting the methods fail as in Bitcoin Core', async () => {
  const node = await nodeWith(chainWithCoins(1), []);
  expect(await rpcError(node, 'getprivatebroadcastinfo')).toEqual(NOT_ENABLED);
  expect(await rpcError(node, 'abortprivatebroadcast', ['00'.repeat(32)])).toEqual(NOT_ENABLED);
});
