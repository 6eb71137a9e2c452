import { expect, test } from 'bun:test';
import { makeKey } from '../../src/auth/key-format.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { BEARER, STATIC_KEY, startTestApi, type TestApi } from '../lib/api-fixture.ts';

/** Minimum delay of a refusal, milliseconds, allowing for early timers. */
const DELAY_MS = 245;

const start = () => startTestApi({ plugins: [(ctx) => restRoutes(ctx)] });

async function timed(it: TestApi, path: string, authorization: string): Promise<{ status: number; ms: number }> {
  const from = performance.now();
  const { status } = await it.get(path, { headers: { authorization } });
  return { status, ms: performance.now() - from };
}

test('the static key opens a WebSocket, also when it is used for the first time', async () => {
  await using it = start();
  const open = (headers: object, protocols: readonly string[] = []) =>
    new Promise<string>((resolve) => {
      const socket = new WebSocket(`${it.api.url.replace('http', 'ws')}/ws`, {
        headers,
        protocols,
      } as unknown as string[]);
      socket.onopen = () => resolve('open');
      socket.onerror = () => resolve('refused');
    });
  const from = performance.now();
  expect(await open({ authorization: 'Bearer wrong' })).toBe('refused');
  expect(performance.now() - from).toBeGreaterThan(DELAY_MS);
  expect(await open({}, ['obverse.events.v1', `bearer.${STATIC_KEY}`])).toBe('open');
  expect(await open(BEARER)).toBe('open');
});

test('a wrong key is held back on public routes, too', async () => {
  await using it = start();
  // The limit of the address does not apply to the right key, so a fast refusal would reveal it.
  const wrong = await timed(it, '/api/health', 'Bearer wrong');
  expect(wrong.status).toBe(200);
  expect(wrong.ms).toBeGreaterThan(DELAY_MS);
  expect((await timed(it, '/api/blocks', 'Bearer wrong')).ms).toBeGreaterThan(DELAY_MS);
});

test('the delay is the same where there is no static key', async () => {
  await using it = startTestApi({ plugins: [(ctx) => restRoutes(ctx)], overrides: { auth: { staticKey: null } } });
  const { status, ms } = await timed(it, '/api/blocks', 'Bearer wrong');
  expect(status).toBe(401);
  expect(ms).toBeGreaterThan(DELAY_MS);
});

test('a text in the form of a key is refused at once', async () => {
  await using it = start();
  await timed(it, '/api/blocks', `Bearer ${makeKey().text}`);
  const times = [];
  for (let i = 0; i < 5; i++) times.push(await timed(it, '/api/blocks', `Bearer ${makeKey().text}`));
  expect(times.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
  expect(Math.min(...times.map(({ ms }) => ms))).toBeLessThan(DELAY_MS);
});

test('a server that stops does not wait for its refusals', async () => {
  await using it = start();
  const refused = Array.from({ length: 20 }, (_, i) => timed(it, '/api/blocks', `Bearer wrong-${i}`));
  await Promise.race(refused);
  const from = performance.now();
  await it.api.stop('test');
  expect(performance.now() - from).toBeLessThan(1000);
  await Promise.allSettled(refused);
});
