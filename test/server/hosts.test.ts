import { afterAll, describe, expect, test } from 'bun:test';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { HostPolicy } from '../../src/server/hosts.ts';
import { BEARER, rawRequest, startTestApi } from '../lib/api-fixture.ts';
import { basicAuth, rpcauthLine } from '../lib/basic-auth.ts';

const FOREIGN = 'attacker.example:8332';
const OWN = { allowedHosts: ['node.example', 'Other.example:8332'], publicUrl: 'https://pay.example:8443/x' };

describe('HostPolicy', () => {
  const policy = new HostPolicy({ ...OWN, bindHosts: ['other.example', 'bound.example'] });

  test.each([
    ...[
      'localhost',
      'localhost:8332',
      'LOCALHOST.',
      'a.localhost:1',
      'node.example',
      'NODE.example:9',
      'other.example',
    ],
    ...[
      'pay.example',
      'pay.example.:443',
      'bound.example:8332',
      '127.0.0.1',
      '203.0.113.9:8332',
      '[::1]:8332',
      '[2001:db8::1]',
    ],
    ...['', null],
  ])('allows %j', (host) => expect(policy.allows(host)).toBe(true));

  test.each([
    ...['attacker.example', 'localhost.attacker.example', 'xlocalhost', 'node.example.attacker.example', 'example'],
    ...[
      '127.0.0.1.attacker.example',
      '127.1',
      '0x7f000001',
      '127.0.0.1:8332, attacker.example',
      '[::1].example',
      '[x]',
    ],
    ...['[::1', '999.1.1.1', 'node.example@attacker.example', ':8332', '.'],
  ])('refuses %j', (host) => expect(policy.allows(host)).toBe(false));

  test('allows the address or name that the server is bound to', () => {
    for (const [bindHost, host] of [
      ['::1', '[::1]:80'],
      ['10.0.0.1', '10.0.0.1'],
      ['node.internal', 'node.internal:8332'],
    ] as const)
      expect(new HostPolicy({ allowedHosts: [], publicUrl: null, bindHosts: [bindHost] }).allows(host)).toBe(true);
  });
});

describe('a server', () => {
  const fixture = startTestApi({
    plugins: [(ctx) => rpcRoutes(ctx), (ctx) => restRoutes(ctx)],
    overrides: {
      http: { ...OWN, corsOrigins: ['https://app.example'] },
      opsListen: { host: '127.0.0.1', port: 0 },
      auth: { rpcUsers: [{ rpcauth: rpcauthLine('alice', 'right'), scopes: ['read'], whitelist: null }] },
    },
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  const status = async (path: string, headers: Record<string, string>, init: RequestInit = {}) =>
    (await fixture.get(path, { ...init, headers: { host: FOREIGN, ...headers } })).status;
  const rpc = { method: 'POST', body: '{"id":1,"method":"getblockcount"}' };
  const upgrade = {
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };

  test('refuses foreign names in requests without a credential', async () => {
    for (const path of ['/', '/api/info', '/api/health', '/api/unknown', '/unknown', '/metrics', '/docs', '/healthz/x'])
      expect([path, await status(path, {})]).toEqual([path, 421]);
    expect(await status('/', {}, rpc)).toBe(421);
    expect(await status('/api/info', { cookie: 'obverse_session=x' })).toBe(421);
    expect(await status('/api/info', { origin: 'https://app.example' }, { method: 'OPTIONS' })).toBe(421);
    expect(await status('/api/info', { authorization: 'Bearer x' }, { method: 'OPTIONS' })).toBe(421);
    const reply = await fixture.get('/api/health', { headers: { host: FOREIGN } });
    expect(await reply.json()).toMatchObject({ error: { code: 'misdirected_request' } });
    const ofRpc = await fixture.get('/', { ...rpc, headers: { host: FOREIGN } });
    expect(await ofRpc.json()).toMatchObject({ error: { code: -32003, data: { code: 'misdirected_request' } } });
  });

  test('answers probes under every name', async () => {
    for (const path of ['/healthz', '/readyz']) expect([200, 503]).toContain(await status(path, {}));
  });

  test('serves its own names and addresses', async () => {
    for (const host of ['localhost:1', 'node.example', 'pay.example', '192.0.2.1:8332', '[::1]:8332'])
      expect([host, await status('/api/health', { host })]).toEqual([host, 200]);
    expect(await status('/api/blocks', { host: 'node.example' })).toBe(401);
    expect(await rawRequest(fixture.api.port, 'GET /api/health HTTP/1.0\r\n\r\n')).toStartWith('HTTP/1.1 200');
  });

  test('serves valid credentials under every name, and answers wrong ones with 401', async () => {
    expect(await status('/api/mempool/txids', BEARER)).toBe(200);
    expect(await status('/', BEARER, rpc)).toBe(200);
    expect(await status('/', { authorization: basicAuth('alice:right') }, rpc)).toBe(200);
    expect(await status('/', { authorization: basicAuth('alice:wrong') }, rpc)).toBe(401);
    expect(await status('/api/blocks', { authorization: 'Bearer wrong' })).toBe(401);
    // A public route would serve them like none at all.
    expect(await status('/api/health', { authorization: 'Bearer wrong' })).toBe(421);
    expect(await status('/api/health', BEARER)).toBe(200);
  });

  test('checks upgrades to a WebSocket that bring neither key nor ticket', async () => {
    const ticket = (await (
      await fixture.get('/api/ws-ticket', { method: 'POST', headers: { ...BEARER, host: FOREIGN } })
    ).json()) as { ticket: string };
    const upgradeStatus = async (path: string, headers: Record<string, string>) => {
      const lines = Object.entries({ host: FOREIGN, ...upgrade, ...headers }).map(
        ([name, value]) => `${name}: ${value}`,
      );
      return Number(
        (await firstLine(fixture.api.port, `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)).split(' ')[1],
      );
    };
    expect(await upgradeStatus('/ws', {})).toBe(421);
    expect(await upgradeStatus('/ws/', { origin: 'http://attacker.example:8332' })).toBe(421);
    expect(await upgradeStatus('/ws', { 'sec-websocket-protocol': 'obverse.events.v1' })).toBe(421);
    expect(await upgradeStatus('/ws', { authorization: 'Bearer wrong' })).toBe(401);
    expect(await upgradeStatus('/ws', { 'sec-websocket-protocol': 'bearer.wrong' })).toBe(401);
    expect(await upgradeStatus('/ws?ticket=obvt_wrong', {})).toBe(401);
    expect(await upgradeStatus('/ws', BEARER)).toBe(101);
    expect(await upgradeStatus(`/ws?ticket=${ticket.ticket}`, { origin: 'https://shop.example' })).toBe(101);
    expect(await upgradeStatus('/ws', { host: 'localhost' })).toBe(401);
  });

  test('refuses foreign names on the listener for operations', async () => {
    const ops = async (path: string, host: string) =>
      (await fetch(fixture.api.opsUrl + path, { headers: { host } })).status;
    for (const path of ['/metrics', '/other']) expect(await ops(path, FOREIGN)).toBe(421);
    for (const host of ['node.example:9332', '127.0.0.1', 'localhost']) expect(await ops('/metrics', host)).toBe(200);
    for (const path of ['/healthz', '/readyz']) expect([200, 503]).toContain(await ops(path, FOREIGN));
  });
});

/** Sends a request as it stands; resolves with the first line of the reply and closes. */
async function firstLine(port: number, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      open: (it) => void it.write(text),
      data: (_, bytes) => resolve(bytes.toString()),
      close: () => resolve(''),
    },
  });
  const reply = await promise;
  socket.terminate();
  return reply.split('\r\n', 1)[0]!;
}
