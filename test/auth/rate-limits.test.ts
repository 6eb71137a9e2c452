import { afterAll, expect, test } from 'bun:test';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { BEARER, startTestApi } from '../lib/api-fixture.ts';

const page = { default: 2, max: 3 };
const fixture = startTestApi({
  plugins: [(ctx) => rpcRoutes(ctx), (ctx) => restRoutes(ctx)],
  overrides: {
    limits: { urlBytes: 300, txBodyBytes: 100, rpcBodyBytes: 200, rpcMaxBatch: 2, wsFrameBytes: 1024 },
    pages: {
      addressTxs: page,
      utxos: page,
      mempoolTxids: { default: 5, max: 3 },
      mempoolAddress: page,
      blockTxs: page,
    },
  },
});
afterAll(() => fixture[Symbol.asyncDispose]());

const get = (path: string) => fixture.get(path, { headers: BEARER });
const post = (path: string, body: string) => fixture.get(path, { method: 'POST', body, headers: BEARER });
const call = (id: number) => ({ jsonrpc: '2.0', id, method: 'getblockcount' });

test('sizes are the operator’s to set', async () => {
  expect((await get(`/api/info?${'x'.repeat(290)}`)).status).toBe(200);
  expect((await get(`/api/info?${'x'.repeat(291)}`)).status).toBe(400);
  expect((await post('/api/tx', '0'.repeat(101))).status).toBe(413);
  expect((await post('/api/tx', '0'.repeat(100))).status).toBe(400);
  expect((await post('/', ' '.repeat(201))).status).toBe(413);
  expect((await post('/', JSON.stringify([call(1), call(2)]))).status).toBe(200);
  const tooMany = await post('/', JSON.stringify([call(1), call(2), call(3)]));
  expect([tooMany.status, await tooMany.json()]).toEqual([
    400,
    { jsonrpc: '2.0', error: { code: -32600, message: 'more than 2 calls' }, id: null },
  ]);
});

test('and so are pages', async () => {
  const address = 'script:51';
  for (const path of [
    `/api/address/${address}/txs`,
    `/api/address/${address}/utxos`,
    '/api/mempool/txids',
    `/api/mempool/address/${address}`,
  ]) {
    const statuses = [];
    for (const limit of [1, 3, 4]) statuses.push((await get(`${path}?limit=${limit}`)).status);
    expect([path, (await get(path)).status, ...statuses]).toEqual([path, 200, 200, 200, 400]);
  }
});

test('and the frames of a WebSocket', async () => {
  const socket = new WebSocket(`${fixture.api.url.replace('http', 'ws')}/ws`, {
    headers: BEARER,
  } as unknown as string[]);
  await new Promise((resolve) => (socket.onopen = resolve));
  const closed = new Promise<number>((resolve) => (socket.onclose = ({ code }) => resolve(code)));
  socket.send('x'.repeat(1025));
  expect(await closed).toBe(1009);
});
