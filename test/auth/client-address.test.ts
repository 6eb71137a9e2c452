import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { ClientAddresses } from '../../src/auth/client-address.ts';
import { loadConfig, thisHost } from '../../src/config/load.ts';
import { apiOptionsOf } from '../../src/node/api-options.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { startTestApi } from '../lib/api-fixture.ts';
import { basicAuth } from '../lib/basic-auth.ts';

const PROXY = '10.0.0.1';
const trustedProxies = ['10.0.0.0/8', '2001:db8:aaaa::/48', '127.0.0.1'];
const forwardedFor = new ClientAddresses({ trustedProxies, proxyHeader: 'x-forwarded-for' });
const forwarded = new ClientAddresses({ trustedProxies, proxyHeader: 'forwarded' });
/** Returns the client of a request with these headers over a connection from `peer`. */
const clientOf = (addresses: ClientAddresses, peer: string, headers: Record<string, string> = {}) =>
  addresses.clientOf(
    { requestIP: () => ({ address: peer, port: 4711 }) },
    new Request('http://localhost/', { headers }),
  );
const ipOf = (peer: string, value: string) => clientOf(forwardedFor, peer, { 'x-forwarded-for': value }).ip;
const ipOfForwarded = (value: string) => clientOf(forwarded, PROXY, { forwarded: value }).ip;

describe('the address of a client', () => {
  test('is the other end of the connection without a trusted proxy', () => {
    const direct = new ClientAddresses({ trustedProxies: [], proxyHeader: 'x-forwarded-for' });
    const headers = { 'x-forwarded-for': '198.51.100.7', forwarded: 'for=198.51.100.7' };
    expect(clientOf(direct, '127.0.0.1', headers).ip).toBe('127.0.0.1');
    expect(ipOf('203.0.113.1', '198.51.100.7')).toBe('203.0.113.1');
    expect(clientOf(direct, '::ffff:203.0.113.1').ip).toBe('203.0.113.1');
  });

  test.each([
    ['198.51.100.7', '198.51.100.7'],
    // The client wrote every entry before the last address that is no proxy.
    ['127.0.0.1, 198.51.100.7', '198.51.100.7'],
    ['1.1.1.1, 198.51.100.7, 10.9.9.9, 127.0.0.1', '198.51.100.7'],
    ['garbage, 198.51.100.7', '198.51.100.7'],
    ['198.51.100.7:4711', '198.51.100.7'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['2001:db8::1, 2001:db8:aaaa::5', '2001:db8::1'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    // All of them are proxies, so one of them is the client.
    ['10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['198.51.100.7, garbage', 'unknown'],
    ['unknown', 'unknown'],
    ['', 'unknown'],
    ['198.51.100.7,', 'unknown'],
    [`${'x'.repeat(10_000)}`, 'unknown'],
    [`198.51.100.7${', 10.1.1.1'.repeat(31)}`, '198.51.100.7'],
    [`198.51.100.7${', 10.1.1.1'.repeat(32)}`, 'unknown'],
  ])('is read from X-Forwarded-For: %j', (value, expected) => expect(ipOf(PROXY, value)).toBe(expected));

  test.each([
    ['for=198.51.100.7', '198.51.100.7'],
    ['For="[2001:db8::1]:4711";proto=https;by=10.0.0.1', '2001:db8::1'],
    ['for=127.0.0.1, for="198.51.100.7:80" ; host=x, for=10.0.0.3', '198.51.100.7'],
    ['for="198.51.100\\.7"', '198.51.100.7'],
    ['proto=https', 'unknown'],
    ['for=_hidden', 'unknown'],
    ['for=unknown', 'unknown'],
    // A quote of the client must not swallow what the proxy appends.
    ['for=127.0.0.1;by=", for=198.51.100.7', 'unknown'],
    ['for=127.0.0.1;by=", for="198.51.100.7"', 'unknown'],
    ['for="127.0.0.1\\", for="198.51.100.7"', 'unknown'],
    ['for=1.1.1.1 for=2.2.2.2', 'unknown'],
    [`for=198.51.100.7;by=${'x'.repeat(5000)}`, 'unknown'],
  ])('is read from Forwarded: %j', (value, expected) => expect(ipOfForwarded(value)).toBe(expected));

  test('does not follow the header that is not set up', () => {
    expect(clientOf(forwardedFor, PROXY, { forwarded: 'for=198.51.100.7' }).ip).toBe(PROXY);
    expect(clientOf(forwarded, PROXY, { 'x-forwarded-for': '198.51.100.7' }).ip).toBe(PROXY);
  });

  test('cannot be chosen by a client, whatever it sends through a proxy', () => {
    const property = fc.property(fc.string({ maxLength: 200 }), (sent) => {
      const given = sent.replaceAll(/[^\x20-\x7e]/g, '?');
      expect(ipOf(PROXY, `${given}, 198.51.100.7`)).toBe('198.51.100.7');
      expect(['198.51.100.7', 'unknown']).toContain(ipOfForwarded(`${given}, for=198.51.100.7`));
      expect(['198.51.100.7', 'unknown']).toContain(ipOfForwarded(`${given}, for="198.51.100.7";by="10.0.0.1"`));
    });
    fc.assert(property, { numRuns: 500 });
  });

  test('is looked up once, and by the time that the caller needs it', () => {
    let lookUps = 0;
    const source = {
      requestIP: () => {
        lookUps++;
        return { address: '203.0.113.1', port: 4711 };
      },
    };
    const client = forwardedFor.clientOf(source, new Request('http://localhost/'));
    expect(lookUps).toBe(0);
    expect([client.ip, client.isLocal(), client.peer?.port]).toEqual(['203.0.113.1', false, 4711]);
    expect(lookUps).toBe(1);
    const unknown = forwardedFor.clientOf({ requestIP: () => null }, new Request('http://localhost/'));
    expect([unknown.ip, unknown.isLocal(), unknown.peer]).toEqual(['', false, null]);
  });

  test('is local only on a direct connection from this host', () => {
    const isLocal = (peer: string, headers = {}) => clientOf(forwardedFor, peer, headers).isLocal();
    for (const peer of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '127.9.9.9']) expect(isLocal(peer)).toBe(true);
    expect(isLocal('10.0.0.1')).toBe(false);
    for (const name of ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])
      expect(isLocal('127.0.0.1', { [name]: '127.0.0.1' })).toBe(false);
  });
});

describe('a server behind a proxy', () => {
  const { config } = loadConfig(
    [
      '--network=regtest',
      '--http.trustedProxies=127.0.0.1,::1',
      '--http.limits.publicRate=1',
      '--http.limits.publicBurst=2',
    ],
    { ...thisHost(), env: {} },
  );
  const { http: configured, limits } = apiOptionsOf(config, null);
  const http = { ...configured, listen: [{ host: '127.0.0.1', port: 0 }] };

  test('counts clients apart and refuses the cookie from others', async () => {
    await using it = startTestApi({ plugins: [(ctx) => rpcRoutes(ctx)], overrides: { http, limits, opsListen: null } });
    const status = async (client: string | null, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      if (client !== null) headers.set('x-forwarded-for', client);
      return (await it.get('/api/health', { ...init, headers })).status;
    };
    for (const client of ['198.51.100.7', '198.51.100.8'])
      expect([await status(client), await status(client), await status(client)]).toEqual([200, 200, 429]);
    // The first address is the client's own invention.
    expect(await status('203.0.113.9, 198.51.100.7')).toBe(429);
    expect(await status('198.51.100.9')).toBe(200);

    const cookie = basicAuth(readFileSync(join(it.dir, '.cookie'), 'utf8'));
    const rpc = async (headers: object) =>
      (
        await it.get('/', {
          method: 'POST',
          body: '{"id":1,"method":"getblockcount"}',
          headers: { authorization: cookie, ...headers },
        })
      ).status;
    expect(await rpc({})).toBe(200);
    for (const client of ['198.51.100.20', '127.0.0.1']) expect(await rpc({ 'x-forwarded-for': client })).toBe(401);
  });
});

test.each([
  '10.0.0.0/33',
  '10.0.0',
  'proxy.example',
  '::/129',
  '10.0.0.1/8/8',
  'fe80::1%eth0',
  '10.0.0.1/',
  '::ffff:10.0.0.0/104',
])('http.trustedProxies refuses %j', (text) =>
  expect(() => loadConfig([`--http.trustedProxies=${text}`], { ...thisHost(), env: {} })).toThrow(
    'http.trustedProxies',
  ),
);
