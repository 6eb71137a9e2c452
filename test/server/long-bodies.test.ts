import { expect, test } from 'bun:test';
import { issueKey } from '../../src/auth/issue-key.ts';
import type { Rate } from '../../src/http/options.ts';
import type { Scope } from '../../src/http/scopes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { rawRequest, startTestApi, type TestApi } from '../lib/api-fixture.ts';
import { poll } from '../lib/node-process.ts';

const MIB = 1024 ** 2;
const CALL = '{"jsonrpc":"2.0","id":1,"method":"getblockcount"';

const start = () => startTestApi({ plugins: [(ctx) => rpcRoutes(ctx)] });
const keyOf = (it: TestApi, scopes: Scope[], rate?: Rate) => {
  const { key } = issueKey(it.api.auth.store!, { label: 'k', scopes, ...(rate && { rate }) }, 1);
  it.api.context.keysChanged();
  return key;
};
const post = (it: TestApi, key: string, body: NonNullable<RequestInit['body']>) =>
  it.get('/', { method: 'POST', body, headers: { authorization: `Bearer ${key}` } });
/** A request without what is behind the first bytes of its body. */
const beginning = (key: string, length: string) =>
  `POST / HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${length}\r\n\r\n`;

test('a key that may call no method is refused before its body is read', async () => {
  await using it = start();
  const reply = await rawRequest(it.api.port, beginning(keyOf(it, ['metrics']), `content-length: ${10 * MIB}`));
  expect(reply).toStartWith('HTTP/1.1 403 ');
  expect(reply).toContain('this credential may call no method');
});

test('each mebibyte of a body costs as much as a request', async () => {
  await using it = start();
  const remaining = async (body: NonNullable<RequestInit['body']>) => {
    const response = await post(it, keyOf(it, ['read'], { perSecond: 1, burst: 100 }), body);
    expect(response.status).toBe(200);
    return Number(response.headers.get('ratelimit-remaining'));
  };
  const long = `${CALL}${' '.repeat(3 * MIB)}}`;
  expect(await remaining(`${CALL}}`)).toBeWithin(99, 101);
  expect(await remaining(long)).toBeWithin(96, 98);
  expect(await remaining(new Blob([long]).stream())).toBeWithin(96, 98);
});

for (const length of [`content-length: ${2 * MIB}`, 'transfer-encoding: chunked'])
  test(`four long bodies of a key are read at a time: ${length}`, async () => {
    await using it = start();
    const [key, other] = [keyOf(it, ['read']), keyOf(it, ['read'])];
    const sockets = await Promise.all(
      Array.from({ length: 4 }, () =>
        Bun.connect({
          hostname: '127.0.0.1',
          port: it.api.port,
          socket: { open: (socket) => void socket.write(beginning(key, length)), data() {} },
        }),
      ),
    );
    const long = `${CALL}${' '.repeat(MIB)}}`;
    const refused = await poll('a refusal', async () => {
      const response = await post(it, key, long);
      return response.status === 429 && response;
    });
    expect(await refused.json()).toMatchObject({
      error: { code: -32029, data: { details: { scope: 'parallel', retryAfter: 1 } } },
    });
    expect((await post(it, key, `${CALL}}`)).status).toBe(200);
    expect((await post(it, other, long)).status).toBe(200);
    for (const socket of sockets) socket.terminate();
    await poll('room for long bodies', async () => (await post(it, key, long)).status === 200);
  });

test('a number has 1,000 characters at most', async () => {
  await using it = start();
  const key = keyOf(it, ['read']);
  const reply = async (id: string) => (await post(it, key, `${CALL.replace('"id":1', `"id":${id}`)}}`)).text();
  expect(await reply('1'.repeat(1000))).toContain('"result":');
  for (const id of ['1'.repeat(1001), `-0.${'1'.repeat(1000)}`, `1.5,"x":1e${'0'.repeat(2_000_000)}1`])
    expect(await reply(id)).toContain('{"code":-32600,"message":"a number has more than 1000 characters"}');
  expect(await reply(`"${'1'.repeat(2000)}"`)).toContain('"result":');
});
