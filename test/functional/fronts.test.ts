import { beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FrontConnection, frontOf, socketsOn } from '../lib/front-connection.ts';
import { cleanUpAfterTests, type NodeProcess, runProgram, startNode, TEST_KEY } from '../lib/node-process.ts';
import { RawWebSocket } from '../lib/raw-websocket.ts';

cleanUpAfterTests();

const FRONTS = 2;
const RATE = { perSecond: 1, burst: 12 };

interface Key {
  readonly id: string;
  readonly key: string;
}

interface Message {
  readonly type: string;
  readonly data?: { readonly cursor?: string; readonly txid?: string };
}

let node: NodeProcess;
/** A connection to each front; the first one may be to either. */
let one: FrontConnection;
let other: FrontConnection;
let address: string;

const newKey = (on: FrontConnection, scopes: readonly string[], more: object = {}): Promise<Key> =>
  on.rpc<Key>(TEST_KEY, 'createapikey', ['', scopes, more]);

const messages = ({ texts }: RawWebSocket): Message[] => texts.map((text) => JSON.parse(text) as Message);

const received = (socket: RawWebSocket, type: string, count = 1): Promise<Message[]> =>
  socket.until(`${count} ${type}`, () => {
    const found = messages(socket).filter((message) => message.type === type);
    return found.length >= count && found;
  });

beforeAll(async () => {
  node = await startNode({ args: [`--workers.front=${FRONTS}`, '--wallet.keypool=20', '--wallet.autocreate=false'] });
  [one, other] = (await FrontConnection.toEach(node.api.url, FRONTS)) as [FrontConnection, FrontConnection];
  await one.rpc(TEST_KEY, 'createwallet', ['w']);
  address = await other.rpc<string>(TEST_KEY, 'getnewaddress', [], 'w');
  await one.rpc(TEST_KEY, 'generatetoaddress', [105, address]);
});

describe('a change through one front applies to the next request on the other', () => {
  test('a block', async () => {
    const batch = JSON.stringify(['a', 'b'].map((id) => ({ jsonrpc: '2.0', id, method: 'getbestblockhash' })));
    for (let i = 0; i < 10; i++) {
      const [hash] = await one.rpc<string[]>(TEST_KEY, 'generatetoaddress', [1, address]);
      expect(await other.rpc<string>(TEST_KEY, 'getbestblockhash')).toBe(hash!);
      const { body } = await other.request('POST', '/', { key: TEST_KEY, body: batch });
      expect((JSON.parse(body) as { result: string }[]).map(({ result }) => result)).toEqual([hash!, hash!]);
      const { headers } = await other.request('GET', '/api/info', { key: TEST_KEY });
      expect(headers.get('x-chain-hash')).toBe(hash!);
    }
  });

  test('a transaction of a wallet', async () => {
    for (const [from, to] of [
      [one, other],
      [other, one],
    ] as const) {
      const txid = await from.rpc<string>(TEST_KEY, 'sendtoaddress', [address, 1], 'w');
      expect(await to.rpc<string[]>(TEST_KEY, 'getrawmempool')).toContain(txid);
      expect(await to.json('GET', `/api/tx/${txid}`, TEST_KEY)).toMatchObject({ txid });
    }
    await one.rpc(TEST_KEY, 'generatetoaddress', [1, address]);
    expect(await other.rpc<string[]>(TEST_KEY, 'getrawmempool')).toEqual([]);
  });

  test('a loaded wallet, the level of the log, and the mock time', async () => {
    await other.rpc(TEST_KEY, 'createwallet', ['second']);
    expect(await one.rpc<string[]>(TEST_KEY, 'listwallets')).toEqual(['w', 'second']);
    await one.rpc(TEST_KEY, 'unloadwallet', ['second']);
    expect(await other.rpc<string[]>(TEST_KEY, 'listwallets')).toEqual(['w']);
    await one.rpc(TEST_KEY, 'logging', [['p2p'], []]);
    expect(await other.rpc<object>(TEST_KEY, 'logging')).toMatchObject({ p2p: true, chain: false });
    await other.rpc(TEST_KEY, 'logging', [[], ['p2p']]);
    expect(await one.rpc<object>(TEST_KEY, 'logging')).toMatchObject({ p2p: false });
    const later = Math.floor(Date.now() / 1000) + 1000;
    await one.rpc(TEST_KEY, 'setmocktime', [later]);
    const { time } = JSON.parse((await other.request('GET', '/api/health')).body) as { time: number };
    expect(time).toBe(later);
    await other.rpc(TEST_KEY, 'setmocktime', [0]);
  });
});

test('both fronts give the same replies', async () => {
  const paths = [
    '/api/info',
    '/api/blocks',
    `/api/address/${address}`,
    '/api/mempool/txids',
    '/api/fees',
    '/docs/json',
  ];
  for (const path of paths) {
    const replies = await Promise.all([one, other].map((front) => front.request('GET', path, { key: TEST_KEY })));
    expect({ path, ...(await shown(replies[0]!)) }).toEqual({ path, ...(await shown(replies[1]!)) });
  }
});

/** Times of replies may differ by a second. */
async function shown({ status, body }: { status: number; body: string }) {
  return { status, body: body.replaceAll(/"(time|uptime|updatedAt|serverTime)":\d+/g, '"$1":0') };
}

test('the rate of a key is that of its requests on all fronts', async () => {
  const { key } = await newKey(one, ['read'], { rate: RATE });
  const startedAt = performance.now();
  const statuses: number[] = [];
  for (let i = 0; i < 3 * RATE.burst; i++)
    statuses.push((await [one, other][i % 2]!.request('GET', '/api/info', { key })).status);
  const passed = statuses.filter((status) => status === 200).length;
  const seconds = (performance.now() - startedAt) / 1000;
  expect(passed).toBeGreaterThanOrEqual(RATE.burst);
  expect(passed).toBeLessThanOrEqual(RATE.burst + Math.ceil(seconds * RATE.perSecond));
  expect(statuses.at(-1)).toBe(429);
  const { headers } = await other.request('GET', '/api/info', { key });
  expect(headers.get('ratelimit-remaining')).toBe('0');
});

test('the connections of a key are counted on all fronts', async () => {
  const { key } = await newKey(one, ['read']);
  const sockets: RawWebSocket[] = [];
  let refused: Error | null = null;
  for (let i = 0; i < 30 && !refused; i++)
    await RawWebSocket.open(node.api.url, key).then(
      (socket) => sockets.push(socket),
      (error: Error) => (refused = error),
    );
  // The default of ws.connectionsPerKey.
  expect(sockets.length).toBe(20);
  expect(String(refused)).toContain('too_many_connections');
  expect(new Set(sockets.map(({ requestId }) => frontOf(requestId))).size).toBe(FRONTS);
  for (const socket of sockets) socket.destroy();
  // The places are free again once both fronts have seen the ends.
  await node.until('a free place', () =>
    RawWebSocket.open(node.api.url, key).then(
      (socket) => {
        socket.destroy();
        return true;
      },
      () => false,
    ),
  );
});

describe('WebSocket', () => {
  test('events reach the connections of all fronts, once and in the same order', async () => {
    const sockets = await socketsOn([one, other], node.api.url, TEST_KEY);
    for (const socket of sockets) socket.send({ type: 'subscribe', data: { events: ['newBlock', 'newTransaction'] } });
    await Promise.all(sockets.map((socket) => received(socket, 'ack')));
    await other.rpc(TEST_KEY, 'sendtoaddress', [address, 1], 'w');
    await one.rpc(TEST_KEY, 'generatetoaddress', [3, address]);
    const [mine, its] = await Promise.all(
      sockets.map(async (socket) => {
        await received(socket, 'newBlock', 3);
        const events = messages(socket).filter(({ data }) => data?.cursor !== undefined);
        return events.slice(0, events.findLastIndex(({ type }) => type === 'newBlock') + 1);
      }),
    );
    expect(mine!.length).toBeGreaterThanOrEqual(4);
    expect(its).toEqual(mine!);
    for (const socket of sockets) socket.destroy();
  });

  test('a watch that is stored through one front notifies a connection on the other', async () => {
    const { key } = await newKey(one, ['read']);
    const [socket] = await socketsOn([other], node.api.url, key);
    const watched = await one.rpc<string>(TEST_KEY, 'getnewaddress', [], 'w');
    await one.json('POST', '/api/watches', key, { watches: [{ kind: 'address', value: watched }] });
    const txid = await one.rpc<string>(TEST_KEY, 'sendtoaddress', [watched, 1], 'w');
    const [event] = await received(socket!, 'addressTransaction');
    expect(event!.data!.txid).toBe(txid);
    const page = await other.json<{ items: unknown[] }>('GET', '/api/watches', key);
    expect(page.items.length).toBe(1);
    socket!.destroy();
  });

  test('a ticket of one front opens one connection on any front', async () => {
    const { key } = await newKey(one, ['read']);
    // Few refusals: they count against the address, and the next tests expect 401.
    for (let i = 0; i < 2; i++) {
      const { ticket } = await [one, other][i % 2]!.json<{ ticket: string }>('POST', '/api/ws-ticket', key);
      const url = `${node.api.url}/ws?ticket=${ticket}`;
      const opened = await Promise.allSettled([1, 2, 3].map(() => RawWebSocket.open(url, null)));
      expect(opened.filter(({ status }) => status === 'fulfilled').length).toBe(1);
      for (const each of opened) if (each.status === 'fulfilled') each.value.destroy();
    }
  });
});

test('a revoked key loses its connections and its rights on all fronts at once', async () => {
  const { id, key } = await newKey(other, ['read']);
  const sockets = await socketsOn([one, other], node.api.url, key);
  await one.rpc(TEST_KEY, 'revokeapikey', [id]);
  for (const front of [one, other]) expect((await front.request('GET', '/api/watches', { key })).status).toBe(401);
  for (const socket of sockets) expect((await socket.closed)?.code).toBe(4001);
});

test('the cookie works on all fronts, and wrong passwords are counted on all', async () => {
  const cookie = readFileSync(join(node.networkDir, '.cookie'), 'utf8');
  const body = JSON.stringify({ method: 'getblockcount' });
  const send = (front: FrontConnection, credentials: string) =>
    front.request('POST', '/', { body, headers: { authorization: `Basic ${btoa(credentials)}` } });
  for (const front of [one, other, one, other]) expect((await send(front, cookie)).status).toBe(200);
  // Each front alone sees fewer than the default of http.limits.authFailuresPerMinute.
  await Promise.all(
    [one, other].map(async (front) => {
      for (let i = 0; i < 6; i++) expect([401, 429]).toContain((await send(front, `__cookie__:wrong ${i}`)).status);
    }),
  );
  for (const front of [one, other]) expect((await send(front, '__cookie__:wrong')).status).toBe(429);
});

test('calls through all fronts are in one audit log, whose chain of hashes is whole', async () => {
  const made: string[] = [];
  await Promise.all(
    [one, other].map(async (front) => {
      for (let i = 0; i < 5; i++) made.push((await newKey(front, ['read'])).id);
    }),
  );
  // The outcome of a call is recorded behind its reply.
  const recorded = async () => {
    const { items } = await other.json<{ items: { keyId: string; outcome: string }[] }>(
      'GET',
      '/api/audit?method=createapikey&limit=100',
      TEST_KEY,
    );
    return made.map((id) => items.filter(({ keyId, outcome }) => keyId === id && outcome === 'ok').length);
  };
  while ((await recorded()).includes(0));
  expect(await recorded()).toEqual(made.map(() => 1));
  const { status, stdout } = await runProgram([
    ...['audit', 'log', '--check'],
    ...['--network', 'regtest', '--datadir', node.datadir],
  ]);
  expect({ status, stdout }).toMatchObject({ status: 0 });
});

test('a request id makes one payment, whichever front receives it', async () => {
  const target = await one.rpc<string>(TEST_KEY, 'getnewaddress', [], 'w');
  const send = (front: FrontConnection) =>
    front.rpc<{ txid: string }>(
      TEST_KEY,
      'send',
      { outputs: [{ [target]: 0.5 }], options: { request_id: 'fronts' } },
      'w',
    );
  const [a, b] = await Promise.all([send(one), send(other)]);
  expect(a!.txid).toBe(b!.txid);
});

test('the metrics and the readiness of all fronts are the same on each', async () => {
  const counts = async (front: FrontConnection) => {
    const { body } = await front.request('GET', '/metrics', { key: TEST_KEY });
    return Number(
      /^http_requests_total\{[^}]*route="\/api\/blocks\/tip"[^}]*status="200"\} (\d+)$/m.exec(body)?.[1] ?? 0,
    );
  };
  for (const [front, times] of [
    [one, 3],
    [other, 4],
  ] as const)
    for (let i = 0; i < times; i++)
      expect((await front.request('GET', '/api/blocks/tip', { key: TEST_KEY })).status).toBe(200);
  expect(await counts(one)).toBe(7);
  expect(await counts(other)).toBe(7);
  for (const front of [one, other]) {
    const { checks } = JSON.parse((await front.request('GET', '/readyz')).body) as {
      checks: Record<string, { status: string; count?: number }>;
    };
    expect(checks.fronts).toMatchObject({ status: 'ok', count: FRONTS });
  }
});

test('what the node counts is not added up over the fronts', async () => {
  const height = await one.rpc<number>(TEST_KEY, 'getblockcount');
  for (const front of [one, other]) {
    const { body } = await front.request('GET', '/metrics', { key: TEST_KEY });
    const figure = (pattern: RegExp) => Number(pattern.exec(body)?.[1]);
    expect(figure(/^obverse_blocks_connected_total(?:\{[^}]*\})? (\d+)$/m)).toBe(height);
    // The node thread reports its own counters once a second, and validates the genesis block as well.
    const connected = figure(/^obverse_block_connect_seconds_count\{[^}]*stage="connect"[^}]*\} (\d+)$/m);
    expect(connected).toBeGreaterThan(0);
    expect(connected).toBeLessThanOrEqual(height + 1);
  }
});

test('a stop closes the connections of all fronts and ends with status 0', async () => {
  const sockets = await socketsOn([one, other], node.api.url, TEST_KEY);
  const { status } = await node.stop();
  expect(status).toBe(0);
  for (const socket of sockets) expect((await socket.closed)?.code).toBe(1001);
});
