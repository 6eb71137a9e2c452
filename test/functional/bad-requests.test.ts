import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import { txidOf } from '../../src/primitives/transaction.ts';
import type { ApiClient, ErrorBody, Info, Page } from '../lib/node-client.ts';
import { cleanUpAfterTests, importFiles, type NodeProcess, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { recentChain, scriptPath, tipHash } from '../lib/sample-chains.ts';

cleanUpAfterTests();

const chain = recentChain(104, { payments: 3 });
const someTx = hashToHex(txidOf(chain.at(102).txs[1]!));
const tip = tipHash(chain);
const unknown = '11'.repeat(32);
const owner = scriptPath('p2wpkh');

describe('requests that are wrong', () => {
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
    expect((await api.request('/healthz')).status).toBe(200);
    expect((await api.request('/readyz')).status).toBe(200);
    expect(await api.json<Info>('/api/info')).toMatchObject({ height: chain.height, bestBlockHash: tip });
    expect(node.stderr).not.toContain('"level":"error"');
    expect(await node.stop()).toMatchObject({ status: 0 });
  });

  /** Status and code, and the shape that every error has. */
  async function failure(path: string, init: RequestInit = {}) {
    const { status, body, headers } = await api.request<ErrorBody>(path, init);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(Object.keys(body)).toEqual(['error']);
    expect(Object.keys(body.error).toSorted()).toEqual(['code', 'details', 'message', 'requestId']);
    expect(body.error.requestId).toBe(headers.get('x-request-id')!);
    expect(body.error.message).not.toMatch(/ at |\.ts|node_modules/);
    expect(headers.get('cache-control')).toContain('no-store');
    return { status, code: body.error.code, details: body.error.details, headers };
  }

  test.each([
    ['/api/block/abc', 400, 'invalid_hash'],
    [`/api/block/${'0'.repeat(63)}g`, 400, 'invalid_hash'],
    [`/api/block/${tip}0`, 400, 'invalid_hash'],
    [`/api/block/${tip.slice(1)}`, 400, 'invalid_hash'],
    ['/api/block/%00', 400, 'invalid_hash'],
    ['/api/block/%ff%fe', 400, 'invalid_hash'],
    [`/api/block/${unknown}`, 404, 'block_not_found'],
    ['/api/block-by-height/-1', 400, 'invalid_height'],
    ['/api/block-by-height/01', 400, 'invalid_height'],
    ['/api/block-by-height/1.5', 400, 'invalid_height'],
    ['/api/block-by-height/1e3', 400, 'invalid_height'],
    ['/api/block-by-height/0x10', 400, 'invalid_height'],
    ['/api/block-by-height/2147483648', 400, 'invalid_height'],
    ['/api/block-by-height/99999999999', 400, 'invalid_height'],
    ['/api/block-by-height/%20', 400, 'invalid_height'],
    ['/api/block-by-height/105', 404, 'block_not_found'],
    ['/api/block-by-height/2147483647', 404, 'block_not_found'],
    ['/api/tx/xyz', 400, 'invalid_txid'],
    [`/api/tx/${unknown}`, 404, 'tx_not_found'],
    ['/api/tx/xyz/proof', 400, 'invalid_txid'],
    [`/api/tx/${unknown}/proof`, 404, 'tx_not_found'],
    ['/api/nonsense', 404, 'not_found'],
    ['/api', 404, 'not_found'],
    ['/api/tx', 405, 'method_not_allowed'],
    ['/nonsense', 404, 'not_found'],
    ['/api/block', 404, 'not_found'],
    ['/api/../etc/passwd', 404, 'not_found'],
    ['/..%2f..%2fetc/passwd', 404, 'not_found'],
  ])('GET %s: %d %s', async (path, status, code) => {
    expect(await failure(path)).toMatchObject({ status, code });
  });

  test('details of errors', async () => {
    expect((await failure('/api/block-by-height/105')).details).toEqual({ tipHeight: 104 });
    expect((await failure(`/api/address/${owner}/txs?limit=0`)).details).toMatchObject({
      parameter: 'limit',
      reason: expect.any(String),
    });
    expect((await failure('/api/balance/1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2')).details).toMatchObject({
      reason: 'wrong_network',
      network: 'regtest',
    });
  });

  test.each([
    ['1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2', 'wrong_network'],
    ['3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy', 'wrong_network'],
    ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'wrong_network'],
    ['tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', 'wrong_network'],
    ['bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr', 'wrong_network'],
    ['mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfo', 'checksum'],
    ['bcrt1q5fm3utw8dqmzc2y8c4czuz66gg6fxhcshhc7pp', 'checksum'],
    ['nonsense', 'malformed'],
    ['0', 'malformed'],
    ['script:', 'malformed'],
    ['script:zz', 'malformed'],
    ['script:abc', 'malformed'],
    [`script:${'51'.repeat(10_001)}`.slice(0, 7000), 'malformed'],
    ['%00%01', 'malformed'],
  ])('address %s: %s', async (address, reason) => {
    for (const path of [`/api/balance/${address}`, `/api/address/${address}/txs`, `/api/address/${address}/utxos`]) {
      if (reason === 'malformed' && address.startsWith('script:5151')) {
        expect([200, 400]).toContain((await api.request(path)).status);
        continue;
      }
      const { status, code, details } = await failure(path);
      expect([path, status, code]).toEqual([path, 400, 'invalid_address']);
      expect(details).toMatchObject({ reason });
    }
  });

  test.each([
    ['limit=0'],
    ['limit=-1'],
    ['limit=501'],
    ['limit=abc'],
    ['limit=1.5'],
    ['limit='],
    ['order=up'],
    ['fromHeight=-1'],
    ['toHeight=x'],
    ['confirmed=maybe'],
    ['minConfirmations=x'],
    ['details=everything'],
  ])('query %s: 400 invalid_parameter', async (query) => {
    expect(await failure(`/api/address/${owner}/txs?${query}`)).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      details: { parameter: query.split('=')[0]! },
    });
  });

  test('unknown query parameters are passed over', async () => {
    expect((await api.request(`/api/balance/${owner}?nonsense=1&limit=x`)).status).toBe(200);
  });

  test('cursors: of nothing, of another list, cut, changed, too long', async () => {
    const { nextCursor } = await api.json<Page<unknown>>(`/api/address/${owner}/txs?limit=2`);
    // Another list; a changed end would be a place in another chain.
    const changed = `${nextCursor!.slice(0, 3)}${nextCursor![3] === 'A' ? 'B' : 'A'}${nextCursor!.slice(4)}`;
    for (const cursor of [
      'x',
      '',
      '%00',
      nextCursor!.slice(0, 10),
      changed,
      `${nextCursor}AAAA`,
      'A'.repeat(257),
      '!!!!',
      'A'.repeat(5000),
    ])
      expect([cursor, await failure(`/api/address/${owner}/txs?cursor=${cursor}`)]).toMatchObject([
        cursor,
        { status: 400, code: 'invalid_cursor' },
      ] as object);
    for (const path of [
      `/api/address/${owner}/utxos?cursor=${nextCursor}`,
      `/api/address/${scriptPath('p2tr')}/txs?cursor=${nextCursor}`,
      `/api/address/${owner}/txs?order=asc&cursor=${nextCursor}`,
    ])
      expect([path, await failure(path)]).toMatchObject([path, { status: 400, code: 'invalid_cursor' }] as object);
    expect((await api.request(`/api/address/${owner}/txs?limit=3&cursor=${nextCursor}`)).status).toBe(200);
  });

  test('methods that a route does not take: 405 with those it takes', async () => {
    for (const [method, path, allow] of [
      ['POST', `/api/block/${tip}`, 'GET'],
      ['DELETE', '/api/info', 'GET'],
      ['PUT', '/api/tx', 'POST'],
      ['PATCH', '/healthz', 'GET'],
      ['POST', '/readyz', 'GET'],
      ['POST', '/metrics', 'GET'],
    ] as const) {
      const { status, code, headers } = await failure(path, { method, body: method === 'DELETE' ? undefined : '{}' });
      expect([method, path, status, code]).toEqual([method, path, 405, 'method_not_allowed']);
      expect(headers.get('allow')).toContain(allow);
    }
    const root = await api.request('/');
    expect([root.status, root.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('a plain GET of /ws: 426', async () => {
    const { status, code, headers } = await failure('/ws');
    expect([status, code]).toEqual([426, 'upgrade_required']);
    expect(headers.get('upgrade')).toBe('websocket');
  });

  test('no credentials, wrong ones, and those of another form: 401', async () => {
    const cases: [string, string][] = [
      ['', 'missing_credentials'],
      ['Bearer', 'invalid_credentials'],
      ['Bearer wrong', 'invalid_credentials'],
      [`Bearer ${TEST_KEY}x`, 'invalid_credentials'],
      [`Bearer ${TEST_KEY.slice(0, -1)}`, 'invalid_credentials'],
      [`Bearer obv1_${'a'.repeat(10)}_${'a'.repeat(58)}`, 'invalid_credentials'],
    ];
    for (const [authorization, code] of cases) {
      for (const path of ['/api/peers', `/api/block/${tip}`, '/api/nonsense', '/metrics']) {
        const reply = await failure(path, { headers: { authorization } });
        expect([authorization, path, reply.status]).toEqual([authorization, path, 401]);
        // An empty bearer may count as none.
        if (authorization !== 'Bearer') expect(reply.code).toBe(code);
        expect(reply.headers.get('www-authenticate')).toContain('Bearer realm="obverse"');
      }
      for (const path of ['/healthz', '/readyz', '/api/health', '/api/info', '/api/supply/circulating', '/docs/json'])
        expect([path, (await api.request(path, { headers: { authorization } })).status]).toEqual([path, 200]);
    }
    expect((await api.request('/api/peers', { headers: { authorization: `bearer ${TEST_KEY}` } })).status).toBe(200);
  });

  test('too many failures from one address: 429, and never for the right key', async () => {
    const strict = await startNode({ args: ['--http.limits.authFailuresPerMinute=10'] });
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++)
      statuses.push((await strict.api.request('/api/peers', { headers: { authorization: 'Bearer wrong' } })).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    expect((await strict.api.request('/api/peers')).status).toBe(200);
    await strict.stop();
  });

  test('bodies of broadcasts', async () => {
    const post = (body: string | Uint8Array<ArrayBuffer>, type: string) =>
      failure('/api/tx', { method: 'POST', body, headers: { 'content-type': type } });
    for (const body of ['', '{', '[]', 'null', '{"tx":1}', '{"nothing":"00"}', '"00"'])
      expect([body, await post(body, 'application/json')]).toMatchObject([body, { status: 400 }] as object);
    for (const hex of ['00', 'zz', 'abc', '01000000', 'ff'.repeat(100)])
      expect([hex, await post(hex, 'text/plain')]).toMatchObject([
        hex,
        { status: 400, code: 'tx_decode_failed' },
      ] as object);
    expect(await post('<tx/>', 'application/xml')).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    expect(await post('0'.repeat(1024 * 1024 + 1), 'text/plain')).toMatchObject({
      status: 413,
      code: 'payload_too_large',
      details: { limit: 1024 * 1024 },
    });
  });

  test('a body that nothing takes: refused by size alone', async () => {
    const { status } = await api.request('/', { method: 'POST', body: new Uint8Array(33 * 1024 * 1024) });
    expect(status).toBe(413);
    const large = await api.rpcBody<{ error: { code: number } }>(' '.repeat(16 * 1024 * 1024 + 1));
    expect([large.status, large.body.error.code]).toEqual([413, -32013]);
    expect((await api.request('/healthz')).status).toBe(200);
  });

  test('long URLs and headers', async () => {
    expect((await api.request(`/api/block/${'a'.repeat(9000)}`)).status).toBe(400);
    expect(
      (await api.request('/api/info', { headers: { 'x-long': 'a'.repeat(40_000) } }).catch(() => ({ status: 431 })))
        .status,
    ).toBe(431);
    expect((await api.request('/healthz')).status).toBe(200);
  });

  test('a transaction that is known, and its proof', async () => {
    expect((await api.request(`/api/tx/${someTx}`)).status).toBe(200);
    expect((await api.request(`/api/tx/${someTx.toUpperCase()}`)).status).toBe(200);
    expect((await api.request(`/api/block/${tip.toUpperCase()}/`)).status).toBe(200);
  });

  describe('JSON-RPC', () => {
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
      [
        'unknown method, legacy',
        legacy({ method: 'nonsense' }),
        404,
        { result: null, error: { code: -32601 }, id: 'x' },
      ],
      ['a method of an object', call({ method: 'toString' }), 200, { error: { code: -32601 } }],
      ['legacy without id', '{"method":"getblockcount"}', 200, { result: 104, error: null }],
      [
        'id null',
        '{"jsonrpc":"2.0","id":null,"method":"getblockcount"}',
        200,
        { jsonrpc: '2.0', result: 104, id: null },
      ],
      [
        'id object',
        '{"jsonrpc":"2.0","id":{"a":1},"method":"getblockcount"}',
        400,
        { error: { code: -32600 }, id: null },
      ],
      [
        'id boolean',
        '{"jsonrpc":"2.0","id":true,"method":"getblockcount"}',
        400,
        { error: { code: -32600 }, id: null },
      ],
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
      [
        'an unknown transaction',
        call({ method: 'getrawtransaction', params: [unknown] }),
        200,
        { error: { code: -5 } },
      ],
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

    test('notifications: 204 and nothing', async () => {
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

    test('credentials, methods and media', async () => {
      const body = call({ method: 'getblockcount' });
      for (const authorization of ['', 'Bearer wrong', `Basic ${btoa('__cookie__:wrong')}`]) {
        const reply = await api.rpcBody<{ error: { code: number }; id: null }>(body, { headers: { authorization } });
        expect([authorization, reply.status]).toEqual([authorization, 401]);
        expect(reply.body).toMatchObject({ error: { code: -32001 }, id: null });
        expect(reply.headers.get('www-authenticate')).toMatch(/Bearer .*Basic realm="jsonrpc"/);
      }
      for (const type of [
        'application/json',
        'application/json-rpc',
        'text/plain',
        'application/x-www-form-urlencoded',
      ])
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
      expect((await api.request('/api/peers', { headers: { authorization: `Basic ${btoa(cookie)}` } })).status).toBe(
        401,
      );
    });

    test('users of rpcauth have the scopes they were given', async () => {
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
});
