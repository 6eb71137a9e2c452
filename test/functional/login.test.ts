import { beforeAll, describe, expect, test } from 'bun:test';
import { runCli } from '../cli/run-cli.ts';
import { FrontConnection, frontOf } from '../lib/front-connection.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

const FRONTS = 2;
/** The system spreads connections over the fronts. */
const SOCKETS = 8;
const DATADIR = tempDir();

let node: NodeProcess;
let one: FrontConnection;
let other: FrontConnection;

async function start(): Promise<void> {
  const args = [`--workers.front=${FRONTS}`, '--wallet.enabled=false'];
  node = await startNode({ datadir: DATADIR, args });
  [one, other] = (await FrontConnection.toEach(node.api.url, FRONTS)) as [FrontConnection, FrontConnection];
}

beforeAll(start);

/** Runs `obverse login` with the cookie file, as an operator does. */
const printed = (...args: readonly string[]) =>
  runCli([
    'login',
    ...args,
    '--network=regtest',
    `--datadir=${DATADIR}`,
    `--http.listen=${new URL(node.api.url).host}`,
  ]);

async function codeOf(...args: readonly string[]): Promise<string> {
  return (JSON.parse((await printed('--json', ...args)).stdout) as { code: string }).code;
}

const post = (on: FrontConnection, code: string) =>
  on.request('POST', '/api/session', { body: JSON.stringify({ code }), headers: { origin: node.api.url } });

async function logIn(on: FrontConnection, ...args: readonly string[]) {
  const { status, headers } = await post(on, await codeOf(...args));
  expect(status).toBe(200);
  const cookie = headers.get('set-cookie')!.split(';', 1)[0]!;
  const { body } = await on.request('GET', '/api/session', { headers: { cookie } });
  const { csrfToken, id } = JSON.parse(body) as { csrfToken: string; id: string };
  return { id, cookie, page: { cookie, origin: node.api.url, 'x-csrf-token': csrfToken } };
}

/** Opens a WebSocket as a page with the cookie does. Resolves with the promise of its close code. */
async function openSocket(cookie: string): Promise<{ readonly closed: Promise<number> }> {
  const headers = { cookie, origin: node.api.url };
  const socket = new WebSocket(`${node.api.url.replace('http', 'ws')}/ws`, { headers } as unknown as string[]);
  const closed = Promise.withResolvers<number>();
  socket.onclose = ({ code }) => closed.resolve(code);
  await new Promise((resolve) => (socket.onopen = resolve));
  return { closed: closed.promise };
}

test('obverse login prints a code for people, and for programs', async () => {
  const { status, stdout, stderr } = await printed();
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(
    /^[0-9A-Z]{4}(?:-[0-9A-Z]{4}){3}\n\nEnter this code at http:\/\/127\.0\.0\.1:\d+\/dashboard\nIt is valid once, for (?:10m 00s|9m 5\ds)\. Scopes: read\.\n$/,
  );
  const json = JSON.parse((await printed('--json', '--scopes', 'broadcast,read')).stdout) as object;
  expect(Object.keys(json)).toEqual(['id', 'code', 'expiresAt', 'scopes', 'url']);
  expect(json).toMatchObject({ scopes: ['read', 'broadcast'], url: `${node.api.url}/dashboard` });
  const wrong = await printed('--scopes', 'read,wallet.spend');
  expect([wrong.status, wrong.stdout]).toEqual([2, '']);
  expect(wrong.stderr).toContain("'wallet.spend': it can hold read, broadcast, metrics, wallet.read, admin");
});

describe('with two fronts', () => {
  test('a login at one is valid at both, and so is its end', async () => {
    for (const [here, there] of [
      [one, other],
      [other, one],
    ] as const) {
      const { cookie, page } = await logIn(here, '--scopes=read,metrics');
      const read = async (on: FrontConnection) =>
        (await on.request('GET', '/api/blocks', { headers: { cookie } })).status;
      expect([await read(here), await read(there)]).toEqual([200, 200]);
      const sockets = await Promise.all(Array.from({ length: SOCKETS }, () => openSocket(cookie)));
      const ticket = await there.request('POST', '/api/ws-ticket', { headers: page });
      expect(ticket.status).toBe(200);
      const out = await there.request('DELETE', '/api/session', { headers: page });
      expect([out.status, out.body]).toEqual([200, '{"ended":true}']);
      expect([await read(here), await read(there)]).toEqual([401, 401]);
      expect(await Promise.all(sockets.map(({ closed }) => closed))).toEqual(Array(SOCKETS).fill(4001));
    }
  });

  test('a code is valid at one of them, once', async () => {
    const code = await codeOf();
    expect([(await post(one, code)).status, (await post(other, code)).status]).toEqual([200, 401]);
  });

  test('a ticket of one opens a WebSocket at the other', async () => {
    const { page } = await logIn(one);
    const fronts = new Set<string>();
    for (let i = 0; i < 64 && fronts.size < FRONTS; i++) {
      const { body } = await one.request('POST', '/api/ws-ticket', { headers: page });
      const { ticket } = JSON.parse(body) as { ticket: string };
      const reply = await fetch(`${node.api.url}/ws?ticket=${ticket}`, {
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        },
      });
      expect(reply.status).toBe(101);
      fronts.add(frontOf(reply.headers.get('x-request-id')!));
    }
    expect(fronts.size).toBe(FRONTS);
  });

  test('wrong Host, Origin and token are refused at both', async () => {
    const { cookie, page } = await logIn(other);
    const port = new URL(node.api.url).port;
    for (const on of [one, other]) {
      const foreign = await fetch(`${node.api.url}/api/blocks`, { headers: { cookie, host: `evil.example:${port}` } });
      expect(foreign.status).toBe(421);
      const post = async (headers: object) =>
        JSON.parse((await on.request('POST', '/api/ws-ticket', { headers: { ...page, ...headers } })).body).error?.code;
      expect(await post({ origin: 'https://evil.example' })).toBe('origin_not_allowed');
      expect(await post({ 'x-csrf-token': '00'.repeat(32) })).toBe('invalid_csrf_token');
      expect(await post({})).toBeUndefined();
      expect((await on.request('POST', '/', { headers: page, body: '{"id":1,"method":"getblockcount"}' })).status).toBe(
        401,
      );
    }
  });

  test('the gauge of sessions and the counts of logins are those of the node', async () => {
    await logIn(one);
    await logIn(other);
    for (const on of [one, other]) {
      const { body } = await on.request('GET', '/metrics', { key: TEST_KEY });
      expect(Number(/^obverse_sessions (\d+)$/m.exec(body)![1])).toBeGreaterThanOrEqual(2);
      expect(Number(/^obverse_logins_total\{result="ok"\} (\d+)$/m.exec(body)![1])).toBeGreaterThanOrEqual(5);
    }
  });
});

test('a restart ends sessions and codes', async () => {
  const code = await codeOf();
  const { cookie } = await logIn(one);
  await node.stop();
  await start();
  expect((await one.request('GET', '/api/session', { headers: { cookie } })).status).toBe(401);
  expect((await post(one, code)).status).toBe(401);
});

test('an address has ten attempts in a minute at both together', async () => {
  const statuses: number[] = [];
  for (let i = 0; i < 20; i++) statuses.push((await post([one, other][i % 2]!, 'WRNG-WRNG-WRNG-WRNG')).status);
  // The test before has made one of the ten.
  expect(statuses).toEqual([...Array(9).fill(401), ...Array(11).fill(429)]);
});
