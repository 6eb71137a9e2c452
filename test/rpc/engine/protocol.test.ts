import { afterAll, expect, test } from 'bun:test';
import { readCall } from '../../../src/rpc/engine/protocol.ts';
import { type ApiFixture, describeWithVectors, mixedChainDir, startTestApi } from '../../lib/chain-api.ts';

const GENESIS = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';

describeWithVectors('JSON-RPC over HTTP', () => {
  const api: ApiFixture = startTestApi(mixedChainDir());
  afterAll(() => api.close());

  const notFound = '{"code":-32601,"message":"Method not found"}';
  const invalid = (message: string) => `{"code":-32600,"message":"${message}"}`;
  // Name, body, HTTP status and reply. The replies are those of Bitcoin Core to the same bodies.
  const matrix: [string, string, number, string][] = [
    ['2.0', '{"jsonrpc":"2.0","id":1,"method":"getblockcount"}', 200, '{"jsonrpc":"2.0","result":160,"id":1}'],
    ['1.0', '{"jsonrpc":"1.0","id":"x","method":"getblockcount"}', 200, '{"result":160,"error":null,"id":"x"}'],
    ['no version', '{"id":1,"method":"getblockcount","params":[]}', 200, '{"result":160,"error":null,"id":1}'],
    ['1.1', '{"version":"1.1","id":1,"method":"getblockcount"}', 200, '{"result":160,"error":null,"id":1}'],
    ['unknown, 2.0', '{"jsonrpc":"2.0","id":1,"method":"x"}', 200, `{"jsonrpc":"2.0","error":${notFound},"id":1}`],
    ['unknown, legacy', '{"id":1,"method":"x"}', 404, `{"result":null,"error":${notFound},"id":1}`],
    ['notification', '{"jsonrpc":"2.0","method":"getblockcount"}', 204, ''],
    ['notification that fails', '{"jsonrpc":"2.0","method":"getblockhash","params":[-1]}', 204, ''],
    ['legacy without id', '{"method":"getblockcount"}', 200, '{"result":160,"error":null}'],
    [
      'id null',
      '{"jsonrpc":"2.0","id":null,"method":"getblockcount"}',
      200,
      '{"jsonrpc":"2.0","result":160,"id":null}',
    ],
    [
      'id of exact text',
      '{"jsonrpc":"2.0","id":1.50,"method":"getblockcount"}',
      200,
      '{"jsonrpc":"2.0","result":160,"id":1.50}',
    ],
    [
      'id beyond doubles',
      '{"jsonrpc":"2.0","id":12345678901234567890123,"method":"getblockcount"}',
      200,
      '{"jsonrpc":"2.0","result":160,"id":12345678901234567890123}',
    ],
    [
      'id with quotes',
      '{"jsonrpc":"2.0","id":"a\\"b\\u0001","method":"getblockcount"}',
      200,
      '{"jsonrpc":"2.0","result":160,"id":"a\\"b\\u0001"}',
    ],
    [
      'params null',
      '{"jsonrpc":"2.0","id":1,"method":"getblockcount","params":null}',
      200,
      '{"jsonrpc":"2.0","result":160,"id":1}',
    ],
    [
      'params text',
      '{"jsonrpc":"2.0","id":1,"method":"getblockcount","params":"x"}',
      400,
      `{"jsonrpc":"2.0","error":${invalid('Params must be an array or object')},"id":1}`,
    ],
    [
      'version 3',
      '{"jsonrpc":"3.0","id":1,"method":"getblockcount"}',
      400,
      `{"result":null,"error":${invalid('JSON-RPC version not supported')},"id":1}`,
    ],
    [
      'version number',
      '{"jsonrpc":2,"id":1,"method":"getblockcount"}',
      400,
      `{"result":null,"error":${invalid('jsonrpc field must be a string')},"id":1}`,
    ],
    ['no method', '{"jsonrpc":"2.0","id":1}', 400, `{"jsonrpc":"2.0","error":${invalid('Missing method')},"id":1}`],
    [
      'method number',
      '{"jsonrpc":"2.0","id":1,"method":1}',
      400,
      `{"jsonrpc":"2.0","error":${invalid('Method must be a string')},"id":1}`,
    ],
    [
      'id object',
      '{"jsonrpc":"2.0","id":{"a":1},"method":"getblockcount"}',
      400,
      `{"jsonrpc":"2.0","error":${invalid('id must be a string, a number or null')},"id":null}`,
    ],
    [
      'id bool',
      '{"jsonrpc":"2.0","id":true,"method":"getblockcount"}',
      400,
      `{"jsonrpc":"2.0","error":${invalid('id must be a string, a number or null')},"id":null}`,
    ],
    [
      'id object, legacy',
      '{"id":{"a":1.0},"method":"getblockcount"}',
      200,
      '{"result":160,"error":null,"id":{"a":1.0}}',
    ],
    ['no JSON', '{"jsonrpc"', 400, '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}'],
    ['nothing', '', 400, '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}'],
    [
      'a number',
      '7',
      400,
      '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Top-level object parse error"},"id":null}',
    ],
    [
      'nested beyond reason',
      '['.repeat(15_000),
      400,
      '{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}',
    ],
    [
      'range, 2.0',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash","params":[161]}',
      200,
      '{"jsonrpc":"2.0","error":{"code":-8,"message":"Block height out of range","data":{"code":"block_not_found","details":{"tipHeight":160}}},"id":1}',
    ],
    [
      'range, legacy',
      '{"id":1,"method":"getblockhash","params":[161]}',
      500,
      '{"result":null,"error":{"code":-8,"message":"Block height out of range","data":{"code":"block_not_found","details":{"tipHeight":160}}},"id":1}',
    ],
    [
      'fraction',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash","params":[1.5]}',
      200,
      '{"jsonrpc":"2.0","error":{"code":-1,"message":"JSON integer out of range"},"id":1}',
    ],
    [
      'exponent',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash","params":[1e2]}',
      200,
      '{"jsonrpc":"2.0","error":{"code":-1,"message":"JSON integer out of range"},"id":1}',
    ],
    [
      'too few',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash"}',
      200,
      '{"jsonrpc":"2.0","error":{"code":-1,"message":"getblockhash height"},"id":1}',
    ],
    [
      'too many',
      '{"id":1,"method":"getblockcount","params":[1]}',
      500,
      '{"result":null,"error":{"code":-1,"message":"getblockcount"},"id":1}',
    ],
    [
      'type',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash","params":["x"]}',
      200,
      '{"jsonrpc":"2.0","error":{"code":-3,"message":"Wrong type passed:\\n{\\n    \\"Position 1 (height)\\": \\"JSON value of type string is not of expected type number\\"\\n}"},"id":1}',
    ],
    [
      'named',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash","params":{"height":0}}',
      200,
      `{"jsonrpc":"2.0","result":"${GENESIS}","id":1}`,
    ],
    [
      'named, unknown',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash","params":{"heigh":0}}',
      200,
      '{"jsonrpc":"2.0","error":{"code":-8,"message":"Unknown named parameter heigh"},"id":1}',
    ],
    [
      'named twice',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash","params":{"args":[0],"height":0}}',
      200,
      '{"jsonrpc":"2.0","error":{"code":-8,"message":"Parameter height specified twice both as positional and named argument"},"id":1}',
    ],
    [
      'named like a prototype',
      '{"jsonrpc":"2.0","id":1,"method":"getblockhash","params":{"__proto__":0}}',
      200,
      '{"jsonrpc":"2.0","error":{"code":-8,"message":"Unknown named parameter __proto__"},"id":1}',
    ],
    [
      'method like a prototype',
      '{"jsonrpc":"2.0","id":1,"method":"constructor"}',
      200,
      `{"jsonrpc":"2.0","error":${notFound},"id":1}`,
    ],
    ['empty batch', '[]', 200, '[]'],
    ['batch of notifications', '[{"jsonrpc":"2.0","method":"getblockcount"}]', 204, ''],
    [
      'batch',
      '[{"jsonrpc":"2.0","id":1,"method":"getblockcount"},{"id":3,"method":"x"},7,{"jsonrpc":"2.0","method":"uptime"},{"jsonrpc":"2.0","id":4}]',
      200,
      `[{"jsonrpc":"2.0","result":160,"id":1},{"result":null,"error":${notFound},"id":3},{"result":null,"error":${invalid('Invalid Request object')},"id":null},{"jsonrpc":"2.0","error":${invalid('Missing method')},"id":4}]`,
    ],
  ];
  for (const [name, body, status, reply] of matrix)
    test(name, async () => {
      const response = await api.post('/', body);
      expect({ status: response.status, body: (await response.text()).trimEnd() }).toEqual({ status, body: reply });
    });

  test('named arguments may follow leading positional ones', async () => {
    const args = async (params: unknown) => {
      const response = await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getblock', params }));
      return ((await response.json()) as { result: string }).result.slice(0, 20);
    };
    const raw = await args([GENESIS, 0]);
    expect(await args({ args: [GENESIS], verbosity: 0 })).toBe(raw);
    expect(await args({ args: [GENESIS], verbose: false })).toBe(raw);
    expect(await args({ verbose: 0, blockhash: GENESIS.toUpperCase() })).toBe(raw);
  });

  test('members of options may be named arguments, but not twice', async () => {
    const call = async (params: unknown) =>
      (await (
        await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'estimatesmartfee', params }))
      ).json()) as { result?: unknown; error?: { code: number } };
    const failure = { errors: ['Insufficient data or no feerate found'], blocks: 0 };
    expect((await call({ conf_target: 2, strict: true })).result).toEqual(failure);
    expect((await call({ options: { strict: true } })).result).toEqual(failure);
    expect((await call({ options: {}, strict: true })).error?.code).toBe(-8);
    expect((await call([2, 'economical', { odd: 1 }])).error?.code).toBe(-3);
  });

  test('media types of requests', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"getblockcount"}';
    for (const type of [
      'application/json',
      'application/json-rpc; charset=utf-8',
      'text/plain',
      'application/x-www-form-urlencoded',
    ])
      expect((await api.post('/', body, { 'content-type': type })).status).toBe(200);
    // Clients of Bitcoin Core compare the whole header.
    for (const sent of [body, `[${body}]`, '{', '{"method":"x"}', '{"method":"getblockhash","params":[-1]}'])
      expect((await api.post('/', sent)).headers.get('content-type')).toBe('application/json');
    const refused = await api.post('/', body, { 'content-type': 'application/xml' });
    expect(refused.status).toBe(415);
    const { jsonrpc, error, id } = (await refused.json()) as { jsonrpc: string; error: { code: number }; id: null };
    expect([jsonrpc, error.code, id]).toEqual(['2.0', -32015, null]);
  });

  test('a batch of 1000 calls is accepted, a longer one is rejected', async () => {
    const call = { jsonrpc: '2.0', id: 1, method: 'getblockcount' };
    expect((await api.post('/', JSON.stringify(Array(1001).fill(call)))).status).toBe(400);
    const response = await api.post('/', JSON.stringify(Array(1000).fill(call)));
    expect(((await response.json()) as unknown[]).length).toBe(1000);
  });

  test('GET is rejected with the allowed methods', async () => {
    const response = await api.get('/');
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

test('a malformed call is parsed as far as possible', () => {
  expect(readCall([])).toMatchObject({ version: 'legacy', id: 'null' });
  expect(readCall({ jsonrpc: '2.0', method: 'a', id: 'x' })).toMatchObject({ id: '"x"', method: 'a', invalid: null });
});
