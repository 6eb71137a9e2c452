import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { READ_ROUTES } from '../../src/rest/endpoints.ts';
import { mixedDirectory } from '../lib/chain-directory.ts';
import type { ApiClient, Reply } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { SinkRest } from '../lib/sink-rest.ts';
import { sinkAt } from '../lib/sink-rows.ts';

cleanUpAfterTests();
setDefaultTimeout(300_000);

const HEADERS = ['content-type', 'cache-control', 'etag', 'link', 'x-chain-height', 'x-chain-hash'];
const DESCRIPTOR =
  'wpkh(tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPStJRJCTKvosUCJZL5B/<0;1>/*)';
const SERIES = [
  'difficulty',
  'hashrate',
  'blockInterval',
  'blockSize',
  'blockWeight',
  'txCount',
  'fees',
  'feeRate',
  'supply',
];
const RANGES = ['all', '1y', '30d', '7d', '24h'];
const WORKERS = 8;

let postgres: PostgresServer;
let node: NodeProcess;
let sql: SQL;
let server: SinkRest;

beforeAll(async () => {
  postgres = await PostgresServer.start();
  // The chain is old, and would count as one in initial sync.
  const args = ['--chain.initialSyncAge=2000000000', '--index.spender=true'];
  node = await startNode({ datadir: await mixedDirectory(), args, env: { OBVERSE_SINK_POSTGRES: postgres.url } });
  sql = new SQL(postgres.url, { max: 1 });
  server = new SinkRest(postgres.url);
  await atTip();
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await sql.close();
  await node.stop();
  await postgres[Symbol.asyncDispose]();
});

async function atTip(): Promise<void> {
  const { bestBlockHash } = await node.api.json<{ bestBlockHash: string }>('/api/info');
  await sinkAt(sql, bestBlockHash);
  server.service.expireTip();
}

interface Ask {
  readonly path: string;
  readonly body?: unknown;
}

function initOf({ body }: Ask): RequestInit {
  // The tag of a compressed reply is a weak one.
  const headers = { 'accept-encoding': 'identity' };
  if (body === undefined) return { headers };
  return { method: 'POST', body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } };
}

/** Returns the parts of a reply that a client sees, without the time at which the node received a block, and its number of mempool events. */
function shown({ status, headers, text, body }: Reply): object {
  const seen = HEADERS.map((name) => [name, headers.get(name)?.replace(/-\d+"$/, '-0"') ?? null]);
  const json =
    typeof body === 'object' ? JSON.parse(text, (key, value) => (HIDDEN.has(key) ? undefined : value)) : text;
  return { status, headers: status === 200 ? Object.fromEntries(seen) : null, body: json };
}

const HIDDEN = new Set(['receivedAt', 'requestId']);

/** Compares the replies to a request, and to the requests of all its further pages. Returns the number of pages. */
async function expectSame(ask: Ask): Promise<number> {
  for (let [path, pages]: [string, number] = [ask.path, 1]; ; pages++) {
    const own = { ...ask, path };
    const [expected, found] = [await node.api.request(path, initOf(own)), await server.request(path, initOf(own))];
    expect({ path, ...shown(found) }).toEqual({ path, ...shown(expected) });
    const next = (expected.body as { next?: unknown } | null)?.next;
    // The reply of one route has a member of this name that is no page.
    if (expected.status !== 200 || typeof next !== 'string') return pages;
    path = next;
  }
}

async function expectAllSame(asks: readonly Ask[]): Promise<number> {
  const left = [...asks];
  let pages = 0;
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      for (let ask = left.shift(); ask !== undefined; ask = left.shift()) {
        const read = await expectSame(ask);
        pages += read;
      }
    }),
  );
  return pages;
}

interface TxFacts {
  readonly txid: string;
  readonly vout: readonly { readonly script: { readonly hex: string; readonly address: string | null } }[];
}

interface Chain {
  readonly blocks: readonly { readonly hash: string; readonly height: number }[];
  readonly txids: readonly string[];
  readonly addresses: readonly string[];
}

async function chainOf(api: ApiClient): Promise<Chain> {
  const { items } = await api.all<{ hash: string; height: number }>('/api/blocks?limit=50');
  const txids: string[] = [];
  const addresses = new Set<string>();
  for (const { hash } of items) {
    const txs = await api.all<TxFacts>(`/api/block/${hash}/txs`);
    for (const { txid, vout } of txs.items) {
      txids.push(txid);
      for (const { script } of vout) if (script.hex !== '') addresses.add(script.address ?? `script:${script.hex}`);
    }
  }
  return { blocks: items, txids, addresses: [...addresses] };
}

function requestsOf({ blocks, txids, addresses }: Chain): Ask[] {
  const [unknown, last] = ['ab'.repeat(32), blocks[0]!.height];
  return [
    ...[...blocks.map(({ hash }) => hash), unknown].flatMap((hash) => [
      ...['', '?fields=summary', '/txids', '/header', '/raw', '/hex', '/status', '/txs', '/txs?limit=70'].map(
        (rest) => ({
          path: `/api/block/${hash}${rest}`,
        }),
      ),
    ]),
    ...[...blocks.map(({ height }) => height), last + 1].map((height) => ({ path: `/api/block-by-height/${height}` })),
    ...['', '?limit=7', `?before=${last - 3}&limit=2`].map((query) => ({ path: `/api/blocks${query}` })),
    ...['', '?from=5&count=20', '?from=100000'].map((query) => ({ path: `/api/headers${query}` })),
    { path: '/api/blocks/tip' },
    ...[...sampleOf(txids, 40), unknown].flatMap((txid) =>
      [
        '',
        '/status',
        '/hex',
        '/raw',
        '/proof',
        '/proof?coinbase=true',
        '/outspends',
        '/outspend/0',
        '/outspend/9',
        '/cpfp',
      ].map((rest) => ({ path: `/api/tx/${txid}${rest}` })),
    ),
    ...slicesOf(txids, 900).map((some) => ({ path: '/api/txs/status', body: { txids: [...some, unknown] } })),
    ...slicesOf(txids, 300).map((some) => ({ path: '/api/txs/details', body: { txids: [...some, unknown] } })),
    ...[...sampleOf(addresses, 30), 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080', 'none'].flatMap((address) => [
      ...['balance', 'address', 'validate', 'mempool/address'].map((route) => ({ path: `/api/${route}/${address}` })),
      ...[
        '',
        '?limit=4',
        '?limit=3&order=asc',
        '?limit=5&details=full&minConfirmations=3',
        '?fromHeight=20&toHeight=110',
      ].map((query) => ({ path: `/api/address/${address}/txs${query}` })),
      ...['', '?limit=6', '?limit=5&confirmed=true'].map((query) => ({
        path: `/api/address/${address}/utxos${query}`,
      })),
    ]),
    ...slicesOf(addresses, 1000).map((some) => ({ path: '/api/balances', body: { addresses: some } })),
    ...slicesOf(sampleOf(addresses, 900), 300).map((some) => ({
      path: '/api/utxos?limit=500',
      body: { addresses: some },
    })),
    ...['used', 'all'].map((shows) => ({ path: `/api/xpub?addresses=${shows}`, body: { descriptor: DESCRIPTOR } })),
    ...['txs?limit=3', 'txs?limit=4&order=asc&details=full', 'utxos?limit=3'].map((rest) => ({
      ...{ path: `/api/xpub/${rest}`, body: { descriptor: DESCRIPTOR } },
    })),
    { path: '/api/difficulty' },
    ...SERIES.flatMap((series) =>
      RANGES.flatMap((range) =>
        [`?range=${range}`, `?range=${range}&points=9`].map((query) => ({ path: `/api/chart/${series}${query}` })),
      ),
    ),
    ...['circulating', 'issued', 'total', 'max'].map((kind) => ({ path: `/api/supply/${kind}` })),
  ];
}

/** Returns some of a list, spread over all of it, with the last one. */
function sampleOf<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, Math.floor(all.length / count));
  return all.toReversed().filter((_, i) => i % step === 0);
}

function slicesOf<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
}

/** Returns the routes that no request is for. */
function unasked(asks: readonly Ask[]): string[] {
  const patterns = READ_ROUTES.map(({ path }) => ({
    path,
    pattern: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`),
  }));
  return patterns.flatMap(({ path, pattern }) =>
    asks.some((ask) => pattern.test(ask.path.split('?')[0]!)) ? [] : [path],
  );
}

async function mineToDescriptor(blocks: number): Promise<void> {
  const [receive] = await node.api
    .rpc<string[]>('getdescriptorinfo', [DESCRIPTOR.replace('<0;1>', '0')])
    .then((info) => [(info as unknown as { descriptor: string }).descriptor]);
  const addresses = await node.api.rpc<string[]>('deriveaddresses', [receive, [0, 30]]);
  for (let i = 0; i < blocks; i++) await node.api.rpc('generatetoaddress', [1, addresses[(i * 3) % 31]]);
}

/** Returns the number of statements of a request, of which no row was fetched before. */
async function statementsOf(path: string): Promise<number> {
  await using fresh = new SinkRest(postgres.url);
  await fresh.service.readTip();
  const before = fresh.service.statements;
  expect((await fresh.request(path)).status).toBe(200);
  return fresh.service.statements - before;
}

test('the common routes take one to three statements', async () => {
  const [{ hash }] = (await node.api.json<{ items: [{ hash: string }] }>('/api/blocks?before=150&limit=1')).items;
  const { items } = await node.api.json<{ items: TxFacts[] }>(`/api/block/${hash}/txs`);
  const { txid, vout } = items.at(-1)!;
  const address = vout.find(({ script }) => script.address !== null)!.script.address;
  const paths = [
    ...['', '/status', '/hex', '/outspends'].map((rest) => `/api/tx/${txid}${rest}`),
    ...['', '/txs?limit=25', '/utxos'].map((rest) => `/api/address/${address}${rest}`),
    ...['', '/txs', '/txids', '/header'].map((rest) => `/api/block/${hash}${rest}`),
    ...[`/api/balance/${address}`, '/api/blocks', '/api/supply/circulating'],
  ];
  const counts: (readonly [string, number])[] = [];
  for (const path of paths) counts.push([path, await statementsOf(path)]);
  expect(counts.filter(([, count]) => count < 1 || count > 3)).toEqual([]);
});

test('the jobs of events read the tables, and other jobs are refused', async () => {
  const run = (name: string, input: unknown) =>
    server.service.runJob({ job: { kind: 'rest', name, input }, signal: AbortSignal.timeout(60_000), long: false });
  const { items } = await node.api.json<{ items: { hash: string }[] }>('/api/blocks?limit=12');
  expect(await run('event-ancestor', { hash: items[0]!.hash, back: 10 })).toMatchObject({
    ...{ ok: true, reply: { body: items[10]!.hash } },
  });
  const txs = await node.api.json<{ items: TxFacts[] }>(`/api/block/${items[0]!.hash}/txs`);
  const { script } = txs.items[0]!.vout[0]!;
  const item = { value: script.hex, label: script.address, thresholds: [], watchId: null };
  const snapshot = await run('event-snapshot', { scripts: [item], txids: [] });
  expect(snapshot.ok && String(snapshot.reply.body)).toContain(txs.items[0]!.txid);
  expect(await run('event-snapshot', { scripts: [], txids: [] })).toMatchObject({ ok: true, reply: { body: '' } });
  const scan = { kind: 'scan', step: { step: 'scripts', objects: '[]' } } as const;
  expect(await server.service.runJob({ job: scan, signal: AbortSignal.timeout(1000), long: false })).toMatchObject({
    ...{ ok: false, api: { failure: 'feature_disabled' } },
  });
});

test('answers are 503 while the database is away, and right again when it is back', async () => {
  const request = () => server.request<{ error: { code: string; message: string } }>('/api/blocks/tip');
  await postgres.kill();
  await node.until('an error', async () => (await request()).status === 503);
  expect((await request()).body.error).toMatchObject({ code: 'warming_up', message: 'the database cannot be reached' });
  await postgres.run();
  await node.until('the tip', async () => (await request()).status === 200);
  await expectSame({ path: '/api/blocks/tip' });
});

test('a database of another network, or one that is being filled, gives no answer', async () => {
  await using other = new SinkRest(postgres.url, 'main');
  const refused = await other.request<{ error: object }>('/api/blocks/tip');
  expect(refused.body.error).toMatchObject({ code: 'warming_up' });
  expect(refused.text).toContain('the chain of network regtest, not of main');
});

test('every route over the tables gives the replies of the node, before and after a reorg', async () => {
  await mineToDescriptor(12);
  await atTip();
  const before = await chainOf(node.api);
  const asks = requestsOf(before);
  expect(unasked(asks)).toEqual([]);
  expect(await expectAllSame(asks)).toBeGreaterThan(asks.length);

  // Pages whose last entry is in a block that leaves the chain.
  const [busy] = before.addresses.slice(-1);
  const cursors = ['/api/blocks?limit=2', `/api/address/${busy}/txs?limit=1`, '/api/blocks?limit=7'];
  const pages = await Promise.all(
    cursors.map(async (path) => (await server.request<{ next: string | null }>(path)).body),
  );
  const next = pages.flatMap((page) => page.next ?? []);
  expect(next.length).toBeGreaterThanOrEqual(2);

  const tip = before.blocks[0]!.height;
  await node.api.rpc('invalidateblock', [before.blocks[8]!.hash]).catch(() => {});
  await node.until('the fork', async () => (await node.api.json<{ height: number }>('/api/info')).height === tip - 9);
  await mineToDescriptor(11);
  await atTip();
  const errors = await Promise.all(next.map(async (path) => (await server.request(path)).status));
  expect(errors).toContain(409);
  await expectAllSame([
    ...next.map((path) => ({ path })),
    // The blocks that left the chain, and their transactions.
    ...requestsOf({ ...before, blocks: before.blocks.slice(0, 12), addresses: before.addresses.slice(0, 20) }),
    ...requestsOf(await chainOf(node.api)),
  ]);
});
