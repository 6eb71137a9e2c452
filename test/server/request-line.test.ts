import { afterAll, expect, test } from 'bun:test';
import { pathOf, routedUrl, targetOf } from '../../src/server/request-url.ts';
import { rawRequest, startTestApi } from '../lib/api-fixture.ts';

/** Other names are answered 421, whatever their path. */
const allowedHosts = ['a', 'a b', 'user@localhost', 'localhost/healthz?', 'a%2fhealthz'];
const fixture = startTestApi({ overrides: { http: { allowedHosts }, opsListen: { host: '127.0.0.1', port: 0 } } });
afterAll(() => fixture[Symbol.asyncDispose]());

/** The status of one request, sent as it stands. */
const statusOf = async (target: string, head: string, port = fixture.api.port): Promise<number> => {
  const reply = await rawRequest(port, `${head.replace('TARGET', target)}connection: close\r\n\r\n`);
  return Number(reply.split(' ', 2)[1]);
};

/** Requests whose URL Bun cannot make whole: without a Host header, or with one that is no host. */
const ODD_HEADS = [
  'GET TARGET HTTP/1.0\r\n',
  'GET TARGET HTTP/1.1\r\nhost: \r\n',
  'GET TARGET HTTP/1.1\r\nhost: a b\r\n',
  'GET TARGET HTTP/1.1\r\nhost: user@localhost\r\n',
  'GET TARGET HTTP/1.1\r\nhost: localhost/healthz?\r\n',
  'GET TARGET HTTP/1.1\r\nhost: a%2fhealthz\r\n',
  'GET TARGET HTTP/1.1\r\nhost: a\r\n',
];

// The gate once took what stands behind a second `//` for the path, while Elysia began at the twelfth character.
test.each(ODD_HEADS)('no target reaches a protected path behind a public one: %j', async (head) => {
  for (const target of [
    '/xxxxxxxxxx/metrics?x=//a/healthz',
    '/xxxxxxxxxx/metrics?//a/docs?',
    '//a/metrics',
    '//healthz/metrics',
    '/xxxxxxx/metrics',
    '/docs/../xxxxx/metrics?//a/docs',
  ])
    expect([target, await statusOf(target, head)]).toEqual([target, 404]);
  expect(await statusOf('/metrics', head)).toBe(401);
  expect(await statusOf('/docs/../metrics', head)).toBe(401);
});

test.each(ODD_HEADS)('probes without a host are answered: %j', async (head) => {
  expect(await statusOf('/healthz', head)).toBe(200);
  expect(await statusOf('/api/health?x=//a/b', head)).toBe(200);
  expect(await statusOf('/healthz', head.replace('GET', 'HEAD'))).toBe(200);
  const ops = Number(new URL(fixture.api.opsUrl!).port);
  expect(await statusOf('/healthz', head, ops)).toBe(200);
  expect(await statusOf('/nothing', head, ops)).toBe(404);
});

test('a URL that is usual stays as it is', () => {
  for (const url of ['http://abcd/x?y', 'https://abcd/', 'http://127.0.0.1:8332//x', 'http://[::1]:1/x'])
    expect(routedUrl(url)).toBe(url);
  expect(routedUrl('/x?//y/z')).toBe('http://localhost/x?//y/z');
  expect(routedUrl('//x/y')).toBe('http://localhost//x/y');
  expect(routedUrl('http://a/x')).toBe('http://localhost/x');
  expect(routedUrl('http://a')).toBe('http://localhost/');
  expect(targetOf('http://abcd/x?y=/z?')).toBe('/x?y=/z?');
  expect(pathOf('/x?y=/z?')).toBe('/x');
  expect(pathOf('/x')).toBe('/x');
});

test('the path of the WebSocket may end in a slash', async () => {
  expect((await fixture.get('/ws/')).status).toBe(426);
  const options = await fixture.get('/ws', { method: 'OPTIONS' });
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET']);
});

test('wrong methods on the JSON-RPC path are answered with Allow: POST', async () => {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    const response = await fixture.get('/', { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  }
});
