import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { ApiClient, Info } from '../lib/node-client.ts';
import { cleanUpAfterTests, importFiles, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { recentChain, tipHash } from '../lib/sample-chains.ts';

cleanUpAfterTests();

const chain = recentChain(104, { payments: 3 });
const tip = tipHash(chain);
const unknown = '11'.repeat(32);

describe('malformed and unusual JSON-RPC requests', () => {
  let node: NodeProcess;
  let api: ApiClient;

  beforeAll(async () => {
    const file = join(tempDir(), 'blocks.dat');
    chain.writeBootstrap(file);
    const datadir = tempDir();
    await importFiles('regtest', datadir, [file]);
    node = await startNode({ datadir, args: ['--http.limits.authFailuresPerMinute=100000'] });
    api = node.api;
  });
  afterAll(async () => {
    // Whatever was asked, the node is as well as before.
    expect((await api.request('/readyz')).status).toBe(200);
    expect(await api.json<Info>('/api/info')).toMatchObject({ height: chain.height, bestBlockHash: tip });
    expect(node.stderr).not.toContain('"level":"error"');
    expect(await node.stop()).toMatchObject({ status: 0 });
  });

  const call = (rest: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, ...rest });
  const legacy = (rest: object) => JSON.stringify({ jsonrpc: '1.0', id: 'x', ...rest });

  test.each<[string, string, number, unknown]>([
    ['2.0', call({ method: 'getblockcount' }), 200, { jsonrpc: '2.0', result: 104, id: 1 }],
    ['legacy', legacy({ method: 'getblockcount', params: [] }), 200, { result: 104, error: null, id: 'x' }],
    ['without version', '{"id":1,"method":"getblockcount"}', 200, { result: 104, error: null, id: 1 }],
    [
      'unknown method',
      call({ method: 'nonsense' }),
      200,
      { jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' }, id: 1 },
    ],
    ['unknown method, legacy', legacy({ method: 'nonsense' }), 404, { result: null, error: { code: -32601 }, id: 'x' }],
    ['a method of an object', call({ method: 'toString' }), 200, { error: { code: -32601 } }],
    ['legacy without id', '{"method":"getblockcount"}', 200, { result: 104, error: null }],
    ['id null', '{"jsonrpc":"2.0","id":null,"method":"getblockcount"}', 200, { jsonrpc: '2.0', result: 104, id: null }],
    [
      'id object',
      '{"jsonrpc":"2.0","id":{"a":1},"method":"getblockcount"}',
      400,
      { error: { code: -32600 }, id: null },
    ],
    ['id boolean', '{"jsonrpc":"2.0","id":true,"method":"getblockcount"}', 400, { error: { code: -32600 }, id: null }],
    ['params null', call({ method: 'getblockcount', params: null }), 200, { result: 104 }],
    [
      'params text',
      call({ method: 'getblockcount', params: 'x' }),
      400,
      { error: { code: -32600, message: 'Params must be an array or object' }, id: 1 },
    ],
    ['too many', call({ method: 'getblockcount', params: [1] }), 200, { error: { code: -1 } }],
    ['too few', call({ method: 'getblockhash' }), 200, { error: { code: -1 } }],
    ['too few, legacy', legacy({ method: 'getblockhash' }), 500, { result: null, error: { code: -1 }, id: 'x' }],
    ['wrong type', call({ method: 'getblockhash', params: ['x'] }), 200, { error: { code: -3 } }],
    ['wrong type, legacy', legacy({ method: 'getblockhash', params: ['x'] }), 500, { error: { code: -3 } }],
    [
      'out of range',
      call({ method: 'getblockhash', params: [105] }),
      200,
      { error: { code: -8, message: 'Block height out of range' } },
    ],
    ['out of range, legacy', legacy({ method: 'getblockhash', params: [-1] }), 500, { error: { code: -8 } }],
    [
      'a fraction',
      call({ method: 'getblockhash', params: [1.5] }),
      200,
      { error: { code: -1, message: 'JSON integer out of range' } },
    ],
    ['named', call({ method: 'getblockhash', params: { height: 104 } }), 200, { result: tip }],
    [
      'named, unknown',
      call({ method: 'getblockhash', params: { heigh: 0 } }),
      200,
      { error: { code: -8, message: 'Unknown named parameter heigh' } },
    ],
    [
      'named, twice',
      call({ method: 'getblockhash', params: { args: [0], height: 0 } }),
      200,
      { error: { code: -8, message: 'Parameter height specified twice both as positional and named argument' } },
    ],
    [
      'a short hash',
      call({ method: 'getblock', params: ['00'] }),
      200,
      { error: { code: -8, message: "blockhash must be of length 64 (not 2, for '00')" } },
    ],
    ['no hex', call({ method: 'getblock', params: ['z'.repeat(64)] }), 200, { error: { code: -8 } }],
    [
      'an unknown block',
      call({ method: 'getblock', params: [unknown] }),
      200,
      { error: { code: -5, message: 'Block not found' } },
    ],
    ['an unknown transaction', call({ method: 'getrawtransaction', params: [unknown] }), 200, { error: { code: -5 } }],
    [
      'version 3',
      '{"jsonrpc":"3.0","id":1,"method":"getblockcount"}',
      400,
      { result: null, error: { code: -32600, message: 'JSON-RPC version not supported' }, id: 1 },
    ],
    [
      'version 2',
      '{"jsonrpc":2,"id":1,"method":"getblockcount"}',
      400,
      { error: { code: -32600, message: 'jsonrpc field must be a string' } },
    ],
    ['no method', call({}), 400, { error: { code: -32600, message: 'Missing method' } }],
    ['method 1', call({ method: 1 }), 400, { error: { code: -32600, message: 'Method must be a string' } }],
    ['no JSON', '{', 400, { error: { code: -32700 }, id: null }],
    ['nothing', '', 400, { error: { code: -32700 }, id: null }],
    ['a number', '1', 400, { error: { code: -32700 }, id: null }],
    ['a text', '"getblockcount"', 400, { error: { code: -32700 }, id: null }],
    ['deep nesting', `${'['.repeat(10_000)}`, 400, { error: { message: expect.any(String) }, id: null }],
    ['very deep nesting', `${'['.repeat(1_000_000)}`, 400, { error: { message: expect.any(String) }, id: null }],
  ])('%s', async (_, body, status, expected) => {
    const reply = await api.rpcBody(body);
    expect(reply.status).toBe(status);
    expect(reply.body).toMatchObject(expected as object);
    // Exactly one of result and error in 2.0.
    if ((reply.body as { jsonrpc?: string }).jsonrpc === '2.0')
      expect('result' in (reply.body as object)).toBe(!('error' in (reply.body as object)));
  });

  test('ids keep their text', async () => {
    const { text } = await api.rpcBody('{"jsonrpc":"2.0","id":1.50,"method":"getblockcount"}');
    expect(JSON.parse(text)).toEqual({ jsonrpc: '2.0', result: 104, id: 1.5 });
    expect(text).toContain('"id":1.50}');
  });

  test('notifications answer 204 without a body', async () => {
    for (const body of ['{"jsonrpc":"2.0","method":"getblockcount"}', '[{"jsonrpc":"2.0","method":"getblockcount"}]'])
      expect(await api.rpcBody(body)).toMatchObject({ status: 204, text: '' });
  });

  test('batches', async () => {
    const { status, body } = await api.rpcBody<unknown>(
      JSON.stringify([
        { jsonrpc: '2.0', id: 1, method: 'getblockcount' },
        { jsonrpc: '2.0', method: 'getblockcount' },
        { id: 3, method: 'nonsense' },
        1,
        { jsonrpc: '2.0', id: 5, method: 'getblockhash', params: [104] },
      ]),
    );
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { jsonrpc: '2.0', result: 104, id: 1 },
      { result: null, error: { code: -32601 }, id: 3 },
      { error: { code: -32600 }, id: null },
      { jsonrpc: '2.0', result: tip, id: 5 },
    ]);
    expect(await api.rpcBody('[]')).toMatchObject({ status: 200, body: [] });
    const many = JSON.stringify(
      Array.from({ length: 1001 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'getblockcount' })),
    );
    expect((await api.rpcBody(many)).status).toBeGreaterThanOrEqual(400);
  });

  test('credentials, methods and media types are checked', async () => {
    const body = call({ method: 'getblockcount' });
    for (const authorization of ['', 'Bearer wrong', `Basic ${btoa('__cookie__:wrong')}`]) {
      const reply = await api.rpcBody<{ error: { code: number }; id: null }>(body, { headers: { authorization } });
      expect([authorization, reply.status]).toEqual([authorization, 401]);
      expect(reply.body).toMatchObject({ error: { code: -32001 }, id: null });
      expect(reply.headers.get('www-authenticate')).toMatch(/Bearer .*Basic realm="jsonrpc"/);
    }
    for (const type of ['application/json', 'application/json-rpc', 'text/plain', 'application/x-www-form-urlencoded'])
      expect([type, (await api.rpcBody(body, { headers: { 'content-type': type } })).status]).toEqual([type, 200]);
    const xml = await api.rpcBody<{ error: { code: number } }>(body, {
      headers: { 'content-type': 'application/xml' },
    });
    expect([xml.status, xml.body.error.code]).toEqual([415, -32015]);
    expect((await api.request('/', { method: 'PUT', body })).status).toBe(405);
    expect((await api.rpcBody(body, { headers: { origin: 'https://shop.example' } })).status).toBe(403);
  });

  test('the cookie of a running node is a credential', async () => {
    const cookie = await Bun.file(join(node.networkDir, '.cookie')).text();
    expect(cookie).toMatch(/^__cookie__:[0-9a-f]{64}$/);
    const reply = await api.rpcBody(call({ method: 'getblockcount' }), {
      headers: { authorization: `Basic ${btoa(cookie)}` },
    });
    expect(reply.status).toBe(200);
    // For JSON-RPC alone.
    expect((await api.request('/api/peers', { headers: { authorization: `Basic ${btoa(cookie)}` } })).status).toBe(401);
  });

  test('users of rpcauth have their configured scopes', async () => {
    const salt = 'f7efda5c189b999524f151318c0c86';
    const hash = new Bun.CryptoHasher('sha256', salt).update('secret').digest('hex');
    const limited = await startNode({ args: [`--rpcauth=alice:${salt}$${hash}`, '--rpcscopes=broadcast'] });
    const headers = { authorization: `Basic ${btoa('alice:secret')}` };
    const reply = await limited.api.rpcBody(call({ method: 'getblockcount' }), { headers });
    expect(reply.status).toBe(403);
    expect(reply.body).toMatchObject({ error: { code: -32003 }, id: null });
    expect(
      (
        await limited.api.rpcBody(call({ method: 'getblockcount' }), {
          headers: { authorization: `Basic ${btoa('alice:wrong')}` },
        })
      ).status,
    ).toBe(401);
    await limited.stop();
  });
});
