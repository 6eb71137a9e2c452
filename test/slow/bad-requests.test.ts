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

describe('malformed requests', () => {
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
    await node.until('readiness', async () => (await api.request('/readyz')).status === 200);
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
  ])('query %s answers 400 invalid_parameter', async (query) => {
    expect(await failure(`/api/address/${owner}/txs?${query}`)).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      details: { parameter: query.split('=')[0]! },
    });
  });

  test('unknown query parameters are ignored', async () => {
    expect((await api.request(`/api/balance/${owner}?nonsense=1&limit=x`)).status).toBe(200);
  });

  test('empty, foreign, truncated, changed and overlong cursors are refused', async () => {
    const { nextCursor } = await api.json<Page<unknown>>(`/api/address/${owner}/txs?limit=2`);
    // Another list; a changed end would be a position in another chain.
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

  test('a method that a route does not have answers 405 with the methods it has', async () => {
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

  test('a plain GET of /ws answers 426', async () => {
    const { status, code, headers } = await failure('/ws');
    expect([status, code]).toEqual([426, 'upgrade_required']);
    expect(headers.get('upgrade')).toBe('websocket');
  });

  test('missing, wrong and malformed credentials answer 401', async () => {
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
      for (const path of ['/healthz', '/api/health', '/api/info', '/api/supply/circulating', '/docs/json'])
        expect([path, (await api.request(path, { headers: { authorization } })).status]).toEqual([path, 200]);
      // /readyz reports the state of the node, and a busy machine may be behind.
      expect([200, 503]).toContain((await api.request('/readyz', { headers: { authorization } })).status);
    }
    expect((await api.request('/api/peers', { headers: { authorization: `bearer ${TEST_KEY}` } })).status).toBe(200);
  });

  test('too many failures from one address answer 429, and the right key is never refused', async () => {
    const strict = await startNode({ args: ['--http.limits.authFailuresPerMinute=10'] });
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++)
      statuses.push((await strict.api.request('/api/peers', { headers: { authorization: 'Bearer wrong' } })).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
    expect((await strict.api.request('/api/peers')).status).toBe(200);
    await strict.stop();
  });

  test('malformed bodies of broadcasts are refused', async () => {
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

  test('a body that no route accepts is refused by its size alone', async () => {
    const { status } = await api.request('/', { method: 'POST', body: new Uint8Array(33 * 1024 * 1024) });
    expect(status).toBe(413);
    const large = await api.rpcBody<{ error: { code: number } }>(' '.repeat(16 * 1024 * 1024 + 1));
    expect([large.status, large.body.error.code]).toEqual([413, -32013]);
    expect((await api.request('/healthz')).status).toBe(200);
  });

  test('overlong URLs and headers are refused', async () => {
    expect((await api.request(`/api/block/${'a'.repeat(9000)}`)).status).toBe(400);
    expect(
      (await api.request('/api/info', { headers: { 'x-long': 'a'.repeat(40_000) } }).catch(() => ({ status: 431 })))
        .status,
    ).toBe(431);
    expect((await api.request('/healthz')).status).toBe(200);
  });

  test('hashes in capitals find the same transaction and block', async () => {
    expect((await api.request(`/api/tx/${someTx}`)).status).toBe(200);
    expect((await api.request(`/api/tx/${someTx.toUpperCase()}`)).status).toBe(200);
    expect((await api.request(`/api/block/${tip.toUpperCase()}/`)).status).toBe(200);
  });
});
