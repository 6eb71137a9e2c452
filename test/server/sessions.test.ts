import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { issueKey } from '../../src/auth/issue-key.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { BEARER, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import type { ApiOverrides } from '../lib/default-options.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { OpenApi } from '../lib/open-api.ts';

const start = (overrides: ApiOverrides = {}, clock?: ManualClock) =>
  startTestApi({
    overrides,
    plugins: [(ctx) => rpcRoutes(ctx), (ctx) => restRoutes(ctx)],
    ...(clock && { clock }),
  });

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>> & {
    readonly error?: { readonly code: string; readonly details: object };
  };
}

async function send(it: TestApi, method: string, path: string, headers: object = {}, body?: object): Promise<Reply> {
  const reply = await it.get(path, {
    method,
    headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: reply.headers, body: text.startsWith('{') ? JSON.parse(text) : {} };
}

const failure = ({ status, body }: Reply) => [status, body.error?.code];

async function codeFor(it: TestApi, scopes?: readonly string[], headers: object = BEARER): Promise<string> {
  const call = { jsonrpc: '2.0', id: 1, method: 'createlogincode', params: scopes ? [scopes] : [] };
  const { body } = await send(it, 'POST', '/', headers, call);
  return (body.result as { code: string }).code;
}

/** Logs in, and returns the headers of a page with the session. */
async function logIn(it: TestApi, scopes?: readonly string[], headers: object = BEARER) {
  const reply = await send(it, 'POST', '/api/session', {}, { code: await codeFor(it, scopes, headers) });
  expect(reply.status).toBe(200);
  const cookie = reply.headers.get('set-cookie')!.split(';', 1)[0]!;
  const { body: session } = await send(it, 'GET', '/api/session', { cookie });
  return { cookie, session, page: { cookie, origin: it.api.url, 'x-csrf-token': session.csrfToken as string } };
}

const upgradeHeaders = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** Opens a socket. Resolves with it and the code of its end once it is open; rejects if it is refused. */
async function openSocket(it: TestApi, headers: object, query = '') {
  const socket = new WebSocket(`${it.api.url.replace('http', 'ws')}/ws${query}`, { headers } as unknown as string[]);
  const closed = Promise.withResolvers<number>();
  const opened = Promise.withResolvers<void>();
  socket.onopen = () => opened.resolve();
  socket.onclose = ({ code }) => {
    opened.reject(new Error('refused'));
    closed.resolve(code);
  };
  await opened.promise;
  return { socket, closed: closed.promise };
}

describe('a login', () => {
  test('turns a code into a session, once', async () => {
    await using it = start();
    const code = await codeFor(it, ['broadcast', 'read']);
    const reply = await send(it, 'POST', '/api/session', { origin: it.api.url }, { code });
    expect([reply.status, reply.body]).toEqual([200, { expiresAt: expect.any(Number), scopes: ['read', 'broadcast'] }]);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.headers.get('set-cookie')).toMatch(
      /^obverse_session=[A-Za-z0-9_-]{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=28800$/,
    );
    expect(failure(await send(it, 'POST', '/api/session', {}, { code }))).toEqual([401, 'invalid_credentials']);
    const cookie = reply.headers.get('set-cookie')!.split(';', 1)[0]!;
    const { body, status } = await send(it, 'GET', '/api/session', { cookie });
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(['id', 'expiresAt', 'idleExpiresAt', 'scopes', 'csrfToken']);
    // Neither the code nor the cookie is in the log.
    for (const line of it.logged)
      for (const secret of [code, cookie.split('=')[1]!]) expect(line).not.toContain(secret);
  });

  test('sets Secure but on plain loopback', async () => {
    await using it = start({ http: { publicUrl: 'https://node.example' } });
    const login = async (headers: object) => {
      const { headers: found } = await send(it, 'POST', '/api/session', headers, { code: await codeFor(it) });
      return found.get('set-cookie')!.includes('; Secure');
    };
    expect(await login({})).toBe(false);
    expect(await login({ host: 'localhost:1' })).toBe(false);
    expect(await login({ host: '203.0.113.9:8332' })).toBe(true);
    expect(await login({ host: 'node.example', origin: 'https://node.example' })).toBe(true);
    // A proxy on this host may send another Host.
    expect(await login({ origin: 'https://node.example' })).toBe(true);
  });

  test('is refused to pages of other origins, and in clear beyond loopback, without using up the code', async () => {
    await using it = start({ http: { corsOrigins: ['https://app.example'] } });
    const code = await codeFor(it);
    const remote = { host: '203.0.113.9:8332', origin: 'http://203.0.113.9:8332' };
    for (const headers of [{ origin: 'https://app.example' }, { origin: 'null' }, remote])
      expect(failure(await send(it, 'POST', '/api/session', headers, { code }))).toEqual([403, 'origin_not_allowed']);
    expect(failure(await send(it, 'POST', '/api/session', { host: 'evil.example' }, { code }))).toEqual([
      421,
      'misdirected_request',
    ]);
    expect((await send(it, 'POST', '/api/session', {}, { code })).status).toBe(200);
  });

  test('is limited to ten attempts of an address in a minute', async () => {
    const clock = new ManualClock(1_700_000_000_000);
    await using it = start({}, clock);
    const attempt = (code: unknown) => send(it, 'POST', '/api/session', {}, { code });
    for (const code of [undefined, 7, 'x'.repeat(65)])
      expect(failure(await attempt(code))).toEqual([400, 'invalid_parameter']);
    for (let i = 0; i < 10; i++) expect(failure(await attempt(`wrong ${i}`))).toEqual([401, 'invalid_credentials']);
    const code = await codeFor(it);
    const limited = await attempt(code);
    expect([...failure(limited), limited.headers.get('retry-after'), limited.body.error?.details]).toEqual([
      429,
      'rate_limited',
      '60',
      { scope: 'login', retryAfter: 60 },
    ]);
    clock.advance(60_000);
    expect((await attempt(code)).status).toBe(200);
    const metrics = await (await it.get('/metrics', { headers: BEARER })).text();
    for (const line of ['{result="ok"} 1', '{result="wrong"} 10', '{result="limited"} 1'])
      expect(metrics).toContain(`obverse_logins_total${line}\n`);
    expect(metrics).toContain('obverse_sessions 1\n');
  });

  test('replaces the session that the browser had', async () => {
    await using it = start();
    const { cookie } = await logIn(it);
    expect((await send(it, 'POST', '/api/session', { cookie }, { code: await codeFor(it) })).status).toBe(200);
    expect(failure(await send(it, 'GET', '/api/session', { cookie }))).toEqual([401, 'invalid_credentials']);
  });
});

describe('a session', () => {
  test('reads under /api and /metrics, and never calls JSON-RPC', async () => {
    await using it = start();
    const { cookie, page, session } = await logIn(it, ['read', 'metrics']);
    for (const path of ['/api/config/limits', '/metrics', '/api/health'])
      expect([path, (await send(it, 'GET', path, { cookie })).status]).toEqual([path, 200]);
    const { body } = await send(it, 'GET', '/api/config/limits', { cookie });
    expect(body.key).toMatchObject({ kind: 'session', id: session.id, scopes: ['metrics', 'read'] });
    const call = { id: 1, method: 'getblockcount' };
    for (const path of ['/', '/wallet/w']) expect((await send(it, 'POST', path, page, call)).status).toBe(401);
    const narrow = await logIn(it, ['metrics']);
    expect(failure(await send(it, 'GET', '/api/config/limits', { cookie: narrow.cookie }))).toEqual([
      403,
      'insufficient_scope',
    ]);
    expect((await send(it, 'GET', '/api/session', { cookie: narrow.cookie })).status).toBe(200);
  });

  test("does not count for Bitcoin Core's REST interface, and the OpenAPI document agrees", async () => {
    await using it = start({ http: { coreRest: 'keyed' } });
    const api = await OpenApi.of(it.api.url);
    const { page } = await logIn(it);
    const ofCore = api.routes.filter((route) => route.includes(' /rest/'));
    expect(ofCore.length).toBeGreaterThan(10);
    for (const route of ofCore) {
      const [method, path] = route.split(' ') as [string, string];
      const { security, responses } = api.operation(route);
      expect([route, security]).toEqual([route, [{ bearer: [] }]]);
      expect(responses[403]!['x-error-codes']).toEqual(['insufficient_scope', 'ip_not_allowed']);
      const { status } = await send(it, method, path.replaceAll(/\{\w+\}/g, 'x'), page);
      expect([route, status]).toEqual([route, 401]);
    }
  });

  test('is refused under foreign names, where a key is not', async () => {
    await using it = start();
    const { cookie } = await logIn(it);
    const host = 'evil.example';
    expect(failure(await send(it, 'GET', '/api/session', { cookie, host }))).toEqual([421, 'misdirected_request']);
    expect(failure(await send(it, 'GET', '/ws', { cookie, host, ...upgradeHeaders }))).toEqual([
      421,
      'misdirected_request',
    ]);
    expect((await send(it, 'GET', '/api/config/limits', { ...BEARER, host })).status).toBe(200);
  });

  test('changes something only from a page of this server that knows its token', async () => {
    await using it = start({ http: { publicUrl: 'https://node.example/x', corsOrigins: ['https://app.example'] } });
    const { cookie, page } = await logIn(it);
    const other = await logIn(it);
    const post = async (headers: object) => failure(await send(it, 'POST', '/api/ws-ticket', { ...page, ...headers }));
    const withoutOrigin = { cookie, 'x-csrf-token': page['x-csrf-token'] };
    expect(failure(await send(it, 'POST', '/api/ws-ticket', withoutOrigin))).toEqual([403, 'origin_not_allowed']);
    for (const origin of [
      'https://app.example',
      'null',
      'http://127.0.0.1:1',
      `${it.api.url}0`,
      'https://evil.example',
    ])
      expect([origin, await post({ origin })]).toEqual([origin, [403, 'origin_not_allowed']]);
    for (const token of ['', 'x', other.page['x-csrf-token']])
      expect(await post({ 'x-csrf-token': token })).toEqual([403, 'invalid_csrf_token']);
    expect(await post({ origin: 'https://node.example' })).toEqual([200, undefined]);
    expect(failure(await send(it, 'DELETE', '/api/session', { cookie, origin: it.api.url }))).toEqual([
      403,
      'invalid_csrf_token',
    ]);
    expect((await send(it, 'GET', '/api/session', { cookie })).status).toBe(200);
  });

  test('with admin reads keys and the audit log, and may do nothing else that needs a scope', async () => {
    await using it = start();
    const { cookie, page, session } = await logIn(it, ['admin']);
    expect(session.scopes).toEqual(['read', 'metrics', 'wallet.read', 'admin']);
    const { status, body } = await send(it, 'GET', '/api/keys', { cookie });
    expect([status, body.items]).toEqual([200, []]);
    expect((await send(it, 'GET', '/api/audit', { cookie })).status).toBe(200);
    expect(failure(await send(it, 'POST', '/api/tx', page, { tx: '00' }))).toEqual([403, 'insufficient_scope']);
    expect(failure(await send(it, 'GET', '/api/webhooks', page))).toEqual([403, 'insufficient_scope']);
    const reads = await logIn(it);
    for (const path of ['/api/keys', '/api/audit'])
      expect(failure(await send(it, 'GET', path, { cookie: reads.cookie }))).toEqual([403, 'insufficient_scope']);
  });

  test('has no stored watches, which would stay behind it', async () => {
    await using it = start();
    const { page } = await logIn(it);
    expect(failure(await send(it, 'POST', '/api/watches', page, {}))).toEqual([403, 'insufficient_scope']);
  });

  test('leaves nothing among the stored watches of keys', async () => {
    await using it = start();
    const { cookie } = await logIn(it);
    const { socket, closed } = await openSocket(it, { cookie, origin: it.api.url });
    for (const path of ['/api/events?after=0', '/api/config/limits'])
      expect((await send(it, 'GET', path, { cookie })).status).toBe(200);
    const stream = await it.get('/api/stream', { headers: { cookie } });
    await stream.body!.cancel();
    await it.api.auth.keysChanged();
    socket.close();
    await closed;
    await it.api.stop('the stores are flushed');
    expect(existsSync(join(it.dir, 'watches.db'))).toBe(false);
  });

  test('is not what a key has', async () => {
    await using it = start();
    expect(failure(await send(it, 'GET', '/api/session', BEARER))).toEqual([401, 'missing_credentials']);
    expect(failure(await send(it, 'GET', '/api/session'))).toEqual([401, 'missing_credentials']);
    // A key that is sent beside the cookie counts alone.
    const { cookie } = await logIn(it, ['metrics']);
    expect((await send(it, 'GET', '/api/config/limits', { ...BEARER, cookie })).status).toBe(200);
  });

  test('that has ended is not counted as a guess, however often its page asks', async () => {
    await using it = start({ limits: { authFailuresPerMinute: 2 } });
    const cookie = `obverse_session=${'A'.repeat(43)}`;
    for (let i = 0; i < 6; i++)
      expect(failure(await send(it, 'GET', '/api/config/limits', { cookie }))).toEqual([401, 'invalid_credentials']);
    // A public route serves such a page like one without a cookie.
    expect((await send(it, 'GET', '/api/health', { cookie })).status).toBe(200);
  });

  test('ends by DELETE, and its sockets with it', async () => {
    await using it = start();
    const { cookie, page } = await logIn(it);
    const { closed } = await openSocket(it, { cookie, origin: it.api.url });
    const reply = await send(it, 'DELETE', '/api/session', page);
    expect([reply.status, reply.body, reply.headers.get('set-cookie')]).toEqual([
      200,
      { ended: true },
      'obverse_session=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0',
    ]);
    expect(await closed).toBe(4001);
    expect(failure(await send(it, 'GET', '/api/session', { cookie }))).toEqual([401, 'invalid_credentials']);
  });

  test('ends with the key that made its code', async () => {
    await using it = start();
    const { key, record } = issueKey(it.api.auth.store!, { label: '', scopes: ['admin'] }, 1);
    const other = issueKey(it.api.auth.store!, { label: '', scopes: ['admin'] }, 1);
    await it.api.auth.keysChanged();
    const { cookie } = await logIn(it, ['read'], { authorization: `Bearer ${key}` });
    const { cookie: kept } = await logIn(it, ['read'], { authorization: `Bearer ${other.key}` });
    const { closed } = await openSocket(it, { cookie, origin: it.api.url });
    it.api.auth.store!.revokeKey(record.id, 2);
    await it.api.auth.keysChanged();
    expect(await closed).toBe(4001);
    expect(failure(await send(it, 'GET', '/api/session', { cookie }))).toEqual([401, 'invalid_credentials']);
    expect((await send(it, 'GET', '/api/session', { cookie: kept })).status).toBe(200);
  });

  test('expires without a request, and after its time', async () => {
    const clock = new ManualClock(1_700_000_000_000);
    await using it = start({}, clock);
    const { cookie, session } = await logIn(it);
    expect([session.expiresAt, session.idleExpiresAt]).toEqual([1_700_028_800, 1_700_001_800]);
    clock.advance(29 * 60_000);
    expect((await send(it, 'GET', '/api/session', { cookie })).body.idleExpiresAt).toBe(1_700_003_540);
    clock.advance(30 * 60_000);
    expect(failure(await send(it, 'GET', '/api/session', { cookie }))).toEqual([401, 'invalid_credentials']);
  });
});

describe('a WebSocket', () => {
  const refusal = (it: TestApi, headers: object, query = '') =>
    send(it, 'GET', `/ws${query}`, { ...upgradeHeaders, ...headers }).then(failure);

  test('opens with the cookie from a page of this server alone', async () => {
    await using it = start({ http: { corsOrigins: ['https://app.example'] } });
    const { cookie } = await logIn(it);
    for (const headers of [{}, { origin: 'https://app.example' }, { origin: 'https://evil.example' }])
      expect(await refusal(it, { cookie, ...headers })).toEqual([403, 'origin_not_allowed']);
    const { socket, closed } = await openSocket(it, { cookie, origin: it.api.url });
    socket.close();
    await closed;
    const narrow = await logIn(it, ['metrics']);
    expect(await refusal(it, { cookie: narrow.cookie, origin: it.api.url })).toEqual([403, 'insufficient_scope']);
    const stale = `obverse_session=${'A'.repeat(43)}`;
    expect(await refusal(it, { cookie: stale, origin: it.api.url })).toEqual([401, 'invalid_credentials']);
  });

  test('opens with a ticket of the session, which ends with it', async () => {
    await using it = start();
    const { page } = await logIn(it);
    const ticket = async () => (await send(it, 'POST', '/api/ws-ticket', page)).body.ticket as string;
    const { closed } = await openSocket(it, {}, `?ticket=${await ticket()}`);
    const unused = await ticket();
    await send(it, 'DELETE', '/api/session', page);
    expect(await closed).toBe(4001);
    expect(await refusal(it, {}, `?ticket=${unused}`)).toEqual([401, 'invalid_credentials']);
  });

  test('of a public stream opens without the session where the cookie does not count', async () => {
    await using it = start({ ws: { auth: 'public' } });
    const { cookie } = await logIn(it, ['metrics']);
    const stale = `obverse_session=${'A'.repeat(43)}`;
    for (const headers of [
      { cookie, origin: 'https://evil.example' },
      { cookie: stale, origin: it.api.url },
    ]) {
      const { socket, closed } = await openSocket(it, headers);
      socket.close();
      await closed;
    }
  });
});

test('the audit log names the code, the login, the logout and a failed code, without their secrets', async () => {
  await using it = start();
  await send(it, 'POST', '/api/session', {}, { code: 'WRNG-WRNG-WRNG-WRNG' });
  const { page, session } = await logIn(it);
  await send(it, 'DELETE', '/api/session', page);
  const { body } = await send(it, 'GET', '/api/audit?limit=10', BEARER);
  const rows = (body.items as Record<string, unknown>[]).filter(({ method }) => !String(method).startsWith('GET'));
  expect(rows.map(({ method, who, outcome, keyId }) => [method, who, outcome, keyId])).toEqual([
    ['logout', session.id, 'ok', null],
    ['login', session.id, 'ok', null],
    ['createlogincode', 'static', 'ok', session.id],
    ['login', 'anonymous', 'invalid_credentials', null],
  ]);
  expect(JSON.stringify(body)).not.toContain('WRNG');
});

test('createlogincode names the scopes that a session can hold, and needs admin', async () => {
  await using it = start();
  const call = async (params: unknown[], headers: object) =>
    (await send(it, 'POST', '/', headers, { jsonrpc: '2.0', id: 1, method: 'createlogincode', params })).body.error;
  for (const scopes of [[], ['wallet.spend'], ['read', 'mining']])
    expect(await call([scopes], BEARER)).toMatchObject({
      code: -8,
      message: 'a session has at least one of the scopes read, broadcast, metrics, wallet.read, admin',
    });
  const { key } = issueKey(it.api.auth.store!, { label: '', scopes: ['read', 'wallet'] }, 1);
  await it.api.auth.keysChanged();
  expect(await call([], { authorization: `Bearer ${key}` })).toMatchObject({ code: -32003 });
});
