import { describe, expect, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { acceptsGzip } from '../../src/http/compress.ts';
import { ApiError, fail } from '../../src/http/errors.ts';
import { access } from '../../src/http/route-access.ts';
import { bytesAnswer, jsonAnswer, replyOf } from '../../src/queries/answer.ts';
import type { RoutePlugin } from '../../src/server/app.ts';
import type { ChainReads } from '../../src/storage/chain-reads.ts';
import { BEARER, rawRequest, startTestApi } from '../lib/api-fixture.ts';

const sample: RoutePlugin = (ctx) =>
  new Elysia({ name: 'test.sample' })
    .get('/api/sample/:hash', ({ params }) => ({ hash: params.hash }), {
      params: t.Object({ hash: t.String({ pattern: '^[0-9a-f]{64}$' }) }),
      query: t.Object({ order: t.Optional(t.Union([t.Literal('asc'), t.Literal('desc')])) }),
    })
    .get('/api/big', () => ({ text: 'x'.repeat(2000) }))
    .get('/api/huge', () => ({ text: 'y'.repeat(200_000) }))
    .get('/api/tip', () => {
      const state = (ctx.reads() as ChainReads).state();
      return replyOf({ state, mempoolSeq: null }, jsonAnswer({ height: state.tip.height })).toResponse();
    })
    .get('/api/raw', () => {
      const answer = bytesAnswer(Uint8Array.of(1, 2, 3), { immutable: 'ab'.repeat(32) });
      return replyOf({ state: (ctx.reads() as ChainReads).state(), mempoolSeq: null }, answer).toResponse();
    })
    .get('/api/broken', () => {
      throw new Error('secret of the house');
    })
    .get('/api/bad-reply', () => ({ wrong: 1 }) as unknown as { right: number }, {
      response: { 200: t.Object({ right: t.Number() }) },
    })
    .get('/api/slow', async () => {
      await Bun.sleep(5000);
      return {};
    })
    .get('/api/gone', () => fail('block_pruned', 'pruned', { pruneHeight: 7 }))
    .post('/api/sample', ({ body }) => ({ got: body.value }), {
      body: t.Object({ value: t.Integer() }),
      detail: access('broadcast', { bodyLimit: 1000 }),
    })
    .get('/api/public', () => ({ open: true }), { detail: access('public') })
    .post('/', async ({ request }) => ({ jsonrpc: '2.0', result: (await request.text()).length, id: 1 }), {
      parse: 'none',
      detail: access('rpc'),
    })
    .post('/wallet/*', ({ params }) => ({ wallet: params['*'] }), { parse: 'none', detail: access('rpc') })
    .post('/api/rejects', () => {
      throw new ApiError('missing-inputs', 'bad-txns-inputs-missingorspent', { class: 'missing-inputs' });
    });

const errorOf = async (reply: Response) => ((await reply.json()) as { error: Record<string, unknown> }).error;

describe('while the node starts', () => {
  test('liveness and health answer, readiness fails, all else is warming up before credentials', async () => {
    await using it = startTestApi({ plugins: [sample], attached: false });
    const healthz = await it.get('/healthz');
    expect(healthz.status).toBe(200);
    expect(await healthz.text()).toBe('{"status":"ok","service":"obverse"}');
    const health = await it.get('/api/health');
    expect(health.status).toBe(200);
    expect(await health.json()).toMatchObject({ status: 'ok', network: 'regtest', ready: false });
    const ready = await it.get('/readyz');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ status: 'fail', checks: { startup: { status: 'fail' } } });
    for (const path of ['/api/tip', '/api/nowhere', '/metrics', '/docs', '/nowhere']) {
      const reply = await it.get(path);
      expect([path, reply.status]).toEqual([path, 503]);
      expect(reply.headers.get('retry-after')).not.toBeNull();
      expect(await errorOf(reply)).toMatchObject({ code: 'warming_up', details: null });
    }
    const rpc = await it.get('/', { method: 'POST', body: '{}' });
    expect(rpc.status).toBe(503);
    expect(await rpc.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -28 }, id: null });
  });

  test('clients of Bitcoin Core get its status and type, so that they wait', async () => {
    await using it = startTestApi({ plugins: [sample], attached: false });
    // bitcoin-cli sends these with the cookie of the last start, and before a cookie exists.
    for (const authorization of [`Basic ${btoa('__cookie__:old')}`, 'Basic ']) {
      for (const path of ['/', '/wallet/default', '/wallet/']) {
        const reply = await it.get(path, { method: 'POST', body: '{}', headers: { authorization } });
        expect([path, reply.status, reply.headers.get('content-type')]).toEqual([path, 500, 'application/json']);
        expect(await reply.json()).toMatchObject({ error: { code: -28 }, id: null });
      }
      expect((await it.get('/api/tip', { headers: { authorization } })).status).toBe(503);
    }
  });

  test('a batch of a client of Bitcoin Core gets an answer to each of its calls', async () => {
    await using it = startTestApi({ plugins: [sample], attached: false });
    const post = (calls: unknown, init: Record<string, string> = { authorization: 'Basic ' }) =>
      it.get('/', { method: 'POST', body: typeof calls === 'string' ? calls : JSON.stringify(calls), headers: init });
    // bitcoin-cli -getinfo sends this batch.
    const calls = [0, 1].map((id) => ({ method: 'getnetworkinfo', params: [], id }));
    const reply = await post([
      ...calls,
      { jsonrpc: '2.0', method: 'uptime', id: 'a' },
      { jsonrpc: '2.0', method: 'x' },
      5,
    ]);
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/json']);
    const warmUp = expect.objectContaining({ code: -28 });
    expect((await reply.json()) as object[]).toEqual([
      { result: null, error: warmUp, id: 0 },
      { result: null, error: warmUp, id: 1 },
      { jsonrpc: '2.0', error: warmUp, id: 'a' },
      { result: null, error: expect.objectContaining({ code: -32600 }), id: null },
    ]);
    expect((await post([])).status).toBe(200);
    expect((await post([{ jsonrpc: '2.0', method: 'x' }])).status).toBe(204);
    // Bodies that are no JSON, are long, or come from other clients are not read.
    for (const body of ['[', `[${' '.repeat(20_000)}]`]) expect((await post(body)).status).toBe(500);
    expect((await post(calls, {})).status).toBe(503);
  });
});

describe('order of checks', () => {
  test('credentials come before the route, also for unknown paths under /api', async () => {
    await using it = startTestApi({ plugins: [sample] });
    for (const path of ['/api/tip', '/api/nowhere', '/api', '/metrics']) {
      const reply = await it.get(path);
      expect([path, reply.status]).toEqual([path, 401]);
      expect(reply.headers.get('www-authenticate')).toBe('Bearer realm="obverse"');
      expect(await errorOf(reply)).toMatchObject({ code: 'missing_credentials' });
    }
    const unknown = await it.get('/api/nowhere', { headers: BEARER });
    expect(unknown.status).toBe(404);
    expect(await errorOf(unknown)).toMatchObject({ code: 'not_found' });
    expect((await it.get('/nowhere')).status).toBe(404);
  });

  test('the size of a body is checked before credentials, with and without Content-Length', async () => {
    await using it = startTestApi({ plugins: [sample] });
    const declared = await it.get('/api/sample', { method: 'POST', body: 'x'.repeat(2000) });
    expect(declared.status).toBe(413);
    expect(await errorOf(declared)).toMatchObject({ code: 'payload_too_large', details: { limit: 1000 } });
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('x'.repeat(2000)));
        controller.close();
      },
    });
    const undeclared = await it.get('/api/sample', { method: 'POST', body: stream, headers: BEARER });
    expect(undeclared.status).toBe(413);
    const rpc = await it.get('/', { method: 'POST', body: 'x'.repeat(1024 * 1024 + 1) });
    expect(rpc.status).toBe(413);
    expect(await rpc.json()).toMatchObject({ error: { code: -32013 }, id: null });
  });

  test('a chunked body within the limit arrives whole', async () => {
    await using it = startTestApi({ plugins: [sample] });
    const body = '2a\r\n{"jsonrpc":"2.0","method":"x","params":[]}\r\n0\r\n\r\n';
    const auth = `authorization: ${BEARER.authorization}`;
    const reply = await rawRequest(
      it.api.port,
      `POST / HTTP/1.1\r\nhost: x\r\n${auth}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${body}`,
    );
    expect(reply).toStartWith('HTTP/1.1 200');
    expect(reply).toContain('"result":42');
  });

  test('a wrong method is reported with Allow, after the credentials', async () => {
    await using it = startTestApi({ plugins: [sample] });
    expect((await it.get('/api/tip', { method: 'DELETE' })).status).toBe(401);
    const reply = await it.get('/api/tip', { method: 'DELETE', headers: BEARER });
    expect(reply.status).toBe(405);
    expect(reply.headers.get('allow')).toBe('GET, HEAD');
    expect(await errorOf(reply)).toMatchObject({ code: 'method_not_allowed' });
    const wallet = await it.get('/wallet/one');
    expect(wallet.status).toBe(405);
    expect(wallet.headers.get('allow')).toBe('POST');
  });

  test('the root redirects browsers to the dashboard and refuses other GETs', async () => {
    await using it = startTestApi({ plugins: [sample] });
    const browser = await it.get('/', { headers: { accept: 'text/html,*/*' } });
    expect(browser.status).toBe(302);
    expect(browser.headers.get('location')).toBe('/dashboard');
    const other = await it.get('/', { headers: { accept: 'application/json' } });
    expect(other.status).toBe(405);
    expect(other.headers.get('allow')).toBe('POST');
  });

  test('scope comes before the parameters', async () => {
    await using it = startTestApi({ plugins: [sample], overrides: { auth: { staticKey: null } } });
    const { issueKey } = await import('../../src/auth/issue-key.ts');
    const { key } = issueKey(it.api.auth.store!, { label: 'reader', scopes: ['read'] }, 1);
    it.api.auth.keysChanged();
    const headers = { authorization: `bearer ${key}`, 'content-type': 'application/json' };
    const reply = await it.get('/api/sample', { method: 'POST', body: '{broken', headers });
    expect(reply.status).toBe(403);
    expect(await errorOf(reply)).toMatchObject({ code: 'insufficient_scope', details: { required: 'broadcast' } });
    expect((await it.get('/metrics', { headers })).status).toBe(403);
    expect((await it.get('/api/tip', { headers })).status).toBe(200);
  });

  test('a plain GET on /ws is 426, an overlong URL 400', async () => {
    await using it = startTestApi();
    const reply = await it.get('/ws');
    expect(reply.status).toBe(426);
    expect(reply.headers.get('upgrade')).toBe('websocket');
    expect(await errorOf(reply)).toMatchObject({ code: 'upgrade_required' });
    expect((await it.get(`/api/tip?x=${'y'.repeat(9000)}`, { headers: BEARER })).status).toBe(400);
  });
});

describe('errors', () => {
  test('a wrong path value has its own code, a wrong query names its parameter', async () => {
    await using it = startTestApi({ plugins: [sample] });
    const path = await it.get('/api/sample/nonsense', { headers: BEARER });
    expect(path.status).toBe(400);
    expect(await errorOf(path)).toMatchObject({ code: 'invalid_hash' });
    const query = await it.get(`/api/sample/${'ab'.repeat(32)}?order=up`, { headers: BEARER });
    expect(query.status).toBe(400);
    expect(await errorOf(query)).toMatchObject({ code: 'invalid_parameter', details: { parameter: 'order' } });
    const body = await it.get('/api/sample', {
      method: 'POST',
      body: '{broken',
      headers: { ...BEARER, 'content-type': 'application/json' },
    });
    expect(body.status).toBe(400);
    expect(await errorOf(body)).toMatchObject({ code: 'invalid_request' });
  });

  test('internal faults reveal nothing and are logged with the request id', async () => {
    await using it = startTestApi({ plugins: [sample] });
    for (const path of ['/api/broken', '/api/bad-reply']) {
      const reply = await it.get(path, { headers: { ...BEARER, 'x-request-id': 'find-me.1' } });
      expect([path, reply.status]).toEqual([path, 500]);
      expect(reply.headers.get('x-request-id')).toBe('find-me.1');
      expect(await errorOf(reply)).toEqual({
        code: 'internal_error',
        message: 'internal error',
        details: null,
        requestId: 'find-me.1',
      });
    }
    expect(it.logged.filter((line) => line.includes('request failed') && line.includes('find-me.1')).length).toBe(2);
    expect(it.logged.join()).toContain('secret of the house');
  });

  test('details and codes pass; kinds of rejected transactions show as tx_rejected', async () => {
    await using it = startTestApi({ plugins: [sample] });
    const gone = await it.get('/api/gone', { headers: BEARER });
    expect(gone.status).toBe(410);
    expect(gone.headers.get('cache-control')).toBe('no-store');
    expect(await errorOf(gone)).toMatchObject({ code: 'block_pruned', details: { pruneHeight: 7 } });
    const rejected = await it.get('/api/rejects', { method: 'POST', headers: BEARER });
    expect(rejected.status).toBe(422);
    expect(await errorOf(rejected)).toMatchObject({ code: 'tx_rejected' });
  });

  test('an answer beyond the time limit is overloaded', async () => {
    await using it = startTestApi({ plugins: [sample], overrides: { http: { requestTimeoutMs: 50 } } });
    const reply = await it.get('/api/slow', { headers: BEARER });
    expect(reply.status).toBe(503);
    expect(await errorOf(reply)).toMatchObject({ code: 'overloaded' });
  });
});

describe('headers', () => {
  test('every reply names itself, the chain and the API', async () => {
    await using it = startTestApi({ plugins: [sample] });
    it.node.mine(3);
    for (const path of ['/healthz', '/api/tip', '/api/nowhere', '/nowhere']) {
      const { headers } = await it.get(path, { headers: BEARER });
      expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
      expect(headers.get('x-api-version')).toBe('1');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('x-chain-height')).toBe('3');
      expect(headers.get('x-chain-hash')).toMatch(/^[0-9a-f]{64}$/);
      expect(headers.get('x-node-syncing')).toBeNull();
    }
    const odd = await it.get('/healthz', { headers: { 'x-request-id': 'no spaces please' } });
    expect(odd.headers.get('x-request-id')).not.toContain(' ');
    it.node.current = { ...it.node.current, initialBlockDownload: true };
    expect((await it.get('/healthz')).headers.get('x-node-syncing')).toBe('1');
  });

  test('a tip-bound reply is not sent twice, and is sent again after a block', async () => {
    await using it = startTestApi({ plugins: [sample] });
    const first = await it.get('/api/tip', { headers: BEARER });
    const etag = first.headers.get('etag')!;
    expect(etag).toBe(`W/"${first.headers.get('x-chain-hash')!.slice(-16)}"`);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const again = await it.get('/api/tip', { headers: { ...BEARER, 'if-none-match': etag } });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe('');
    expect(again.headers.get('etag')).toBe(etag);
    it.node.mine();
    const later = await it.get('/api/tip', { headers: { ...BEARER, 'if-none-match': etag } });
    expect(later.status).toBe(200);
    const raw = await it.get('/api/raw', { headers: { ...BEARER, 'if-none-match': `"x", "${'ab'.repeat(32)}"` } });
    expect(raw.status).toBe(304);
    expect(raw.headers.get('cache-control')).toBe('private, immutable, max-age=86400');
  });

  test('HEAD and a slash at the end are tolerated', async () => {
    await using it = startTestApi({ plugins: [sample] });
    const head = await it.get('/api/big', { method: 'HEAD', headers: { ...BEARER, 'accept-encoding': 'identity' } });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe('');
    expect(Number(head.headers.get('content-length'))).toBe(2011);
    expect((await it.get('/api/tip/', { headers: BEARER })).status).toBe(200);
    expect((await it.get(`/api/sample/${'ab'.repeat(32)}/`, { headers: BEARER })).status).toBe(200);
    expect((await it.get('/healthz/')).status).toBe(200);
  });

  test('long replies are compressed when asked', async () => {
    await using it = startTestApi({ plugins: [sample] });
    for (const path of ['/api/big', '/api/huge']) {
      const packed = await it.get(path, {
        headers: { ...BEARER, 'accept-encoding': 'gzip' },
        decompress: false,
      } as RequestInit);
      expect(packed.headers.get('content-encoding')).toBe('gzip');
      expect(
        JSON.parse(new TextDecoder().decode(Bun.gunzipSync(new Uint8Array(await packed.arrayBuffer())))).text.length,
      ).toBeGreaterThan(1999);
      const plain = await it.get(path, { headers: { ...BEARER, 'accept-encoding': 'identity' } });
      expect(plain.headers.get('content-encoding')).toBeNull();
    }
    const short = await it.get('/api/tip', { headers: { ...BEARER, 'accept-encoding': 'gzip' } });
    expect(short.headers.get('content-encoding')).toBeNull();
    expect(await short.json()).toEqual({ height: 0 });
  });
});

test.each([
  ['gzip', true],
  ['br, GZIP;q=0.5', true],
  ['*', true],
  ['*;q=0, gzip', true],
  ['gzip;q=0, *', false],
  ['gzip;q=0.000', false],
  ['identity;q=1, *;q=0', false],
  ['deflate, br', false],
  ['', false],
  [null, false],
] as const)('Accept-Encoding %j takes gzip: %j', (header, taken) => {
  expect(acceptsGzip(header)).toBe(taken);
});

describe('cross-origin', () => {
  test('only listed origins may read, and preflights need no key', async () => {
    await using it = startTestApi({
      plugins: [sample],
      overrides: { http: { corsOrigins: ['https://shop.example'] } },
    });
    const preflight = await it.get('/api/tip', { method: 'OPTIONS', headers: { origin: 'https://shop.example' } });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://shop.example');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
    expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
    const stranger = await it.get('/api/tip', { method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
    expect(stranger.headers.get('access-control-allow-origin')).toBeNull();
    const rpc = await it.get('/', {
      method: 'POST',
      body: '{}',
      headers: { ...BEARER, origin: 'https://evil.example' },
    });
    expect(rpc.status).toBe(403);
    expect(await rpc.json()).toMatchObject({ error: { code: -32003, data: { code: 'origin_not_allowed' } } });
  });
});

describe('public routes', () => {
  test('are limited per address, not for a caller with a key', async () => {
    await using it = startTestApi({
      plugins: [sample],
      overrides: { limits: { publicRate: { perSecond: 0.01, burst: 3 } } },
    });
    for (let left = 2; left >= 0; left--) {
      const reply = await it.get('/api/public');
      expect(reply.status).toBe(200);
      expect(reply.headers.get('ratelimit-limit')).toBe('3');
      expect(reply.headers.get('ratelimit-remaining')).toBe(String(left));
    }
    const refused = await it.get('/api/health');
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(await errorOf(refused)).toMatchObject({ code: 'rate_limited', details: { scope: 'ip' } });
    expect((await it.get('/api/public', { headers: BEARER })).status).toBe(200);
    expect((await it.get('/healthz')).status).toBe(200);
  });
});

describe('documentation', () => {
  test('is complete without any request to another place', async () => {
    await using it = startTestApi({ plugins: [sample] });
    const page = await it.get('/docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    const spec = (await (await it.get('/docs/json')).json()) as { openapi: string; paths: Record<string, object> };
    expect(spec.openapi).toStartWith('3.');
    expect(Object.keys(spec.paths)).toContain('/api/sample/{hash}');
    expect(Object.keys(spec.paths)).toContain('/readyz');
    const security = (path: string) => (spec.paths[path] as { get: { security?: object[] } }).get.security;
    expect([security('/readyz'), security('/api/health'), security('/api/sample/{hash}')]).toEqual([[], [], undefined]);
    expect((await it.get('/docs/unused')).status).toBe(404);
  });
});

describe('stopping', () => {
  test('waits for a running request, then nothing answers', async () => {
    const it = startTestApi({
      plugins: [() => new Elysia().get('/api/wait', () => Bun.sleep(150).then(() => ({ done: true })))],
    });
    const running = it.get('/api/wait', { headers: BEARER });
    await it.get('/healthz');
    const stopped = it.api.stop('test');
    expect(await (await running).json()).toEqual({ done: true });
    await stopped;
    expect(it.get('/healthz')).rejects.toThrow();
    await it[Symbol.asyncDispose]();
  });
});
