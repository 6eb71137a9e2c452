import { afterAll, expect, test } from 'bun:test';
import { describeWithVectors, mixedChainDir, startTestApi } from '../../lib/chain-api.ts';
import { cleanUpAfterTests, startNode } from '../../lib/node-process.ts';
import { startPeer } from '../../lib/peer-node.ts';

cleanUpAfterTests();

interface Running {
  active_commands: { method: string; duration: number }[];
}

test('stop ends the program as a signal does, after the reply', async () => {
  const node = await startNode();
  expect(await node.api.rpc<string>('stop')).toBe('Obverse stopping');
  expect(await node.end()).toEqual({ status: 0, signal: null });
});

test('getrpcinfo lists the running calls', async () => {
  const node = await startNode();
  const waited = node.api.rpc('waitforblockheight', [1]);
  const running = await node.until('the call that waits', async () => {
    const { active_commands } = await node.api.rpc<Running>('getrpcinfo');
    return active_commands.length === 2 && active_commands;
  });
  expect(running.map(({ method }) => method)).toEqual(['waitforblockheight', 'getrpcinfo']);
  expect(running[0]!.duration).toBeGreaterThanOrEqual(running[1]!.duration);
  await node.api.rpc('generatetodescriptor', [1, 'raw(51)']);
  await waited;
  expect((await node.api.rpc<Running>('getrpcinfo')).active_commands).toHaveLength(1);
});

test('logging enables and disables debug lines by category', async () => {
  // The node dials an address without a listener, and logs that.
  const { node } = await startPeer();
  const all = 'node chain storage mempool p2p wallet http auth events webhooks'.split(' ');
  const only = (...names: string[]) => Object.fromEntries(all.map((name) => [name, names.includes(name)]));
  expect(await node.api.rpc<object>('logging')).toEqual(only());
  expect(await node.api.rpc<object>('logging', [['mempool', 'p2p'], ['mempool']])).toEqual(only('p2p'));
  await node.api.rpcBody({ id: 1, method: 'addnode', params: ['127.0.0.1:1', 'onetry'] });
  await node.output('stderr', /"level":"debug","time":"[^"]+","category":"p2p"/);
  expect(await node.api.rpc<object>('logging', [['all'], ['1']])).toEqual(only());
  expect(await node.api.rpc<object>('logging', [[''], []])).toEqual(only(...all));
  const { body } = await node.api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'logging', params: [['nets']] });
  expect(body).toMatchObject({ error: { code: -8, message: 'unknown logging category nets' } });
  // Core's name of the category p2p.
  expect(await node.api.rpc<object>('logging', [['net'], ['all']])).toEqual(only());
  expect(await node.api.rpc<object>('logging', [['net']])).toEqual(only('p2p'));
});

describeWithVectors('errors carry codes for programs', () => {
  const api = startTestApi(mixedChainDir());
  afterAll(() => api.close());
  const unknownHash = '00'.repeat(32);

  const failures: [string, unknown[], number, object | undefined][] = [
    ['getblock', [unknownHash], -5, { code: 'block_not_found', details: { tipHeight: 160 } }],
    ['getblockhash', [999], -8, { code: 'block_not_found', details: { tipHeight: 160 } }],
    ['getrawtransaction', [unknownHash], -5, { code: 'tx_not_found', details: null }],
    ['getmempoolentry', [unknownHash], -5, { code: 'tx_not_found', details: null }],
    ['sendrawtransaction', ['00'], -22, { code: 'tx_decode_failed', details: null }],
    ['generatetoaddress', [1, 'nope'], -5, { code: 'invalid_address', details: { reason: 'malformed' } }],
    ['pruneblockchain', [5], -1, { code: 'feature_disabled', details: { feature: 'pruning' } }],
    // The code of JSON-RPC is enough.
    ['getblockhash', ['x'], -3, undefined],
    ['nonsense', [], -32601, undefined],
  ];
  for (const [method, params, code, data] of failures)
    test(`${method} ${JSON.stringify(params).slice(0, 20)}`, async () => {
      const response = await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
      const { error } = (await response.json()) as { error: { code: number; data?: object } };
      expect([error.code, error.data]).toEqual([code, data]);
    });
});
