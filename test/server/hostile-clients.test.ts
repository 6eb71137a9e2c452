import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { BEARER, rawRequest, STATIC_KEY, startTestApi } from '../lib/api-fixture.ts';
import { describeWithVectors, mixedChainBlocks, startTestApi as startChainApi } from '../lib/chain-api.ts';
import { fillChain } from '../lib/chain-filler.ts';

const fixture = startTestApi({ plugins: [(ctx) => rpcRoutes(ctx), (ctx) => restRoutes(ctx)] });
afterAll(() => fixture[Symbol.asyncDispose]());

describe('clients that leave', () => {
  const head = (length: string) =>
    `POST / HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${STATIC_KEY}\r\n${length}\r\n\r\n`;

  /** Sends the beginning of a request and disconnects. */
  const leaveAfter = async (text: string): Promise<void> => {
    const socket = await Bun.connect({ hostname: '127.0.0.1', port: fixture.api.port, socket: { data: () => {} } });
    socket.write(text);
    socket.flush();
    await fixture.get('/healthz');
    socket.terminate();
  };

  const counted = async (): Promise<string[]> => {
    const text = await (await fixture.get('/metrics', { headers: BEARER })).text();
    return text.split('\n').filter((line) => line.startsWith('http_requests_total{') && line.includes('route="/",'));
  };

  test('a disconnect within a body is not logged as an internal error', async () => {
    await leaveAfter(`${head('content-length: 1000')}{"jsonrpc"`);
    await leaveAfter(`${head('transfer-encoding: chunked')}5\r\n{"jso\r\n`);
    const isThere = (line: string) => line.endsWith('status="400"} 2');
    for (let i = 0; i < 200 && !(await counted()).some(isThere); i++) await fixture.get('/healthz');
    const lines = await counted();
    expect(lines.filter(isThere)).toHaveLength(1);
    expect(lines.join()).not.toContain('status="5');
    expect(fixture.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });
});

describe('JSON bodies of REST', () => {
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fixture.get(path, { method: 'POST', body, headers: { ...BEARER, ...headers } });
  const failure = async (response: Response) => [
    response.status,
    ((await response.json()) as { error: { code: string } }).error.code,
  ];

  test('with more values than they can have are refused before they are parsed', async () => {
    const many = ['['.repeat(60_000), `[${'1,'.repeat(60_000)}1]`, `{"txids":[${'{},'.repeat(2000)}{}]}`];
    for (const body of many)
      for (const path of ['/api/txs/status', '/api/tx'])
        expect(await failure(await post(path, body, { 'content-type': 'application/json' }))).toEqual([
          400,
          'invalid_request',
        ]);
  });

  test('invalid bodies and other content types have different errors', async () => {
    for (const type of ['text/xml', 'application/octet-stream', 'multipart/form-data'])
      expect(await failure(await post('/api/txs/status', '{"txids":[]}', { 'content-type': type }))).toEqual([
        415,
        'unsupported_media_type',
      ]);
    for (const type of ['application/json; charset=utf-8', 'text/plain;charset=UTF-8', 'APPLICATION/JSON'])
      expect((await post('/api/txs/status', '{"txids":[]}', { 'content-type': type })).status).toBe(200);
  });
});

describe('the subprotocol of /ws', () => {
  const answer = (protocols: string) =>
    rawRequest(
      fixture.api.port,
      [
        'GET /ws HTTP/1.1',
        'host: localhost',
        'connection: Upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
        `sec-websocket-protocol: ${protocols}`,
        // Close, masked with zeros.
        '\r\n\x88\x80\0\0\0\0',
      ].join('\r\n'),
    );

  // Bun selects the first subprotocol that is offered unless it is set, and that may be the key.
  test('is never the key', async () => {
    for (const protocols of [`bearer.${STATIC_KEY}`, `bearer.${STATIC_KEY}, other`]) {
      const reply = await answer(protocols);
      expect(reply).toStartWith('HTTP/1.1 101');
      expect(reply.toLowerCase()).not.toContain('sec-websocket-protocol');
      expect(reply).not.toContain(STATIC_KEY);
    }
    const chosen = await answer(`bearer.${STATIC_KEY}, obverse.events.v1`);
    expect(chosen.toLowerCase()).toContain('\r\nsec-websocket-protocol: obverse.events.v1\r\n');
  });
});

describeWithVectors('a file of blocks that is cut off', () => {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-cut-'));
  fillChain(dir, regtest, mixedChainBlocks().slice(0, 3));
  for (const name of readdirSync(join(dir, 'blocks'))) truncateSync(join(dir, 'blocks', name), 100);
  const api = startChainApi(dir);
  afterAll(async () => {
    await api.close();
    rmSync(dir, { recursive: true, force: true });
  });

  test('is an internal error, and its path is not revealed', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getblockhash', params: [2] });
    const { result: hash } = (await (await api.post('/', body)).json()) as { result: string };
    const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getblock', params: [hash, 0] });
    expect(await (await api.post('/', call)).json()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32603, message: 'Internal error' },
      id: 1,
    });
    const response = await api.get(`/api/block/${hash}/raw`);
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining(dir)]);
  });
});
