import { isDeepStrictEqual } from 'node:util';
import { SQL } from 'bun';
import { READ_ROUTES } from '../../src/rest/endpoints.ts';
import { mixedDirectory } from '../lib/chain-directory.ts';
import type { ApiClient, Reply } from '../lib/node-client.ts';
import { startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { SinkRest } from '../lib/sink-rest.ts';
import { sinkAt } from '../lib/sink-rows.ts';
import type { Proof } from './proof.ts';

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

/** Violations after which no further requests are compared. */
const MAX_VIOLATIONS = 20;

/**
 * Compares the replies of every route that reads the chain, over the tables of a sink, with those of the node that has written them:
 * status, body, ETag and the headers of the tip, all pages to the end, before and after a reorg.
 */
export const sinkReplies: Proof = {
  help: 'every read of a server without a node is that of its node; counts blocks, transactions and addresses of each route',
  count: 40,
  async run(count, _seed, signal, progress) {
    await using postgres = await PostgresServer.start();
    // The chain is old, and would count as one in initial sync.
    const args = ['--chain.initialSyncAge=2000000000', '--index.spender=true'];
    const node = await startNode({
      datadir: await mixedDirectory(),
      args,
      env: { OBVERSE_SINK_POSTGRES: postgres.url },
    });
    const { api } = node;
    await using sql = new SQL(postgres.url, { max: 1 });
    await using server = new SinkRest(postgres.url);
    const violations: string[] = [];
    let replies = 0;
    const compareAll = async (asks: readonly Ask[]) => {
      const left = [...asks];
      const compareNext = async () => {
        for (let ask = left.shift(); ask !== undefined && violations.length < MAX_VIOLATIONS; ask = left.shift()) {
          signal.throwIfAborted();
          const pages = await comparePages(ask, { api, server, violations });
          replies += pages;
        }
      };
      await Promise.all(Array.from({ length: WORKERS }, compareNext));
      progress?.(`${replies} replies compared`);
    };
    const atTip = async () => {
      const { bestBlockHash } = await api.json<{ bestBlockHash: string }>('/api/info');
      await sinkAt(sql, bestBlockHash);
      server.service.expireTip();
    };
    try {
      await mineToDescriptor(api, 12);
      await atTip();
      const before = await chainOf(api, count);
      const asks = requestsOf(before, count);
      violations.push(...unasked(asks).map((path) => `no request is for ${path}`));
      await compareAll(asks);

      // Pages whose last entry is in a block that leaves the chain.
      const [busy] = before.addresses.slice(-1);
      const cursors = ['/api/blocks?limit=2', `/api/address/${busy}/txs?limit=1`, '/api/blocks?limit=7'];
      const pages = await Promise.all(
        cursors.map(async (path) => (await server.request<{ next: string | null }>(path)).body),
      );
      const next = pages.flatMap((page) => page.next ?? []);
      const tip = before.blocks[0]!.height;
      await api.rpc('invalidateblock', [before.blocks[8]!.hash]).catch(() => {});
      await node.until('the fork', async () => (await api.json<{ height: number }>('/api/info')).height === tip - 9);
      await mineToDescriptor(api, 11);
      await atTip();
      const refused = (await Promise.all(next.map(async (path) => (await server.request(path)).status))).filter(
        (status) => status === 409,
      ).length;
      if (refused === 0) violations.push('no cursor of a block that left the chain is refused');
      await compareAll([
        ...next.map((path) => ({ path })),
        // The blocks that left the chain, and their transactions.
        ...requestsOf(
          { ...before, blocks: before.blocks.slice(0, 12), addresses: before.addresses.slice(0, 20) },
          count,
        ),
        ...requestsOf(await chainOf(api, count), count),
      ]);
      const figures = [
        ['requests of each kind', count],
        ['replies compared', replies],
        ['cursors refused after the reorg', refused],
      ] as const;
      return { figures, violations };
    } finally {
      await node.stop();
    }
  },
};

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

interface Compared {
  readonly api: ApiClient;
  readonly server: SinkRest;
  /** Receives a line for each reply that differs. */
  readonly violations: string[];
}

/** Compares the replies to a request, and to the requests of all its further pages. Returns the number of pages. */
export async function comparePages(ask: Ask, { api, server, violations }: Compared): Promise<number> {
  for (let [path, pages]: [string, number] = [ask.path, 1]; ; pages++) {
    const own = { ...ask, path };
    const [expected, found] = [await api.request(path, initOf(own)), await server.request(path, initOf(own))];
    const [wanted, got] = [shown(expected), shown(found)];
    if (!isDeepStrictEqual(got, wanted))
      violations.push(
        `${path}: ${JSON.stringify(got).slice(0, 500)} instead of ${JSON.stringify(wanted).slice(0, 500)}`,
      );
    const next = (expected.body as { next?: unknown } | null)?.next;
    // The reply of one route has a member of this name that is no page.
    if (expected.status !== 200 || typeof next !== 'string' || violations.length >= MAX_VIOLATIONS) return pages;
    path = next;
  }
}

export interface PaidTx {
  readonly txid: string;
  readonly vout: readonly { readonly script: { readonly hex: string; readonly address: string | null } }[];
}

interface Chain {
  readonly blocks: readonly { readonly hash: string; readonly height: number }[];
  readonly txids: readonly string[];
  readonly addresses: readonly string[];
}

/** Returns all blocks, with the transactions and addresses of 30 times `count` of them. */
async function chainOf(api: ApiClient, count: number): Promise<Chain> {
  const { items } = await api.all<{ hash: string; height: number }>('/api/blocks?limit=50');
  const txids: string[] = [];
  const addresses = new Set<string>();
  for (const { hash } of sampleOf(items, 30 * count)) {
    const txs = await api.all<PaidTx>(`/api/block/${hash}/txs`);
    for (const { txid, vout } of txs.items) {
      txids.push(txid);
      for (const { script } of vout) if (script.hex !== '') addresses.add(script.address ?? `script:${script.hex}`);
    }
  }
  return { blocks: items, txids, addresses: [...addresses] };
}

/** Returns requests of all routes: for `count` blocks, transactions and addresses, and for all of these at once. */
function requestsOf({ blocks, txids, addresses }: Chain, count: number): Ask[] {
  const [unknown, last] = ['ab'.repeat(32), blocks[0]!.height];
  const some = sampleOf(blocks, count);
  return [
    ...[...some.map(({ hash }) => hash), unknown].flatMap((hash) => [
      ...['', '?fields=summary', '/txids', '/header', '/raw', '/hex', '/status', '/txs', '/txs?limit=70'].map(
        (rest) => ({
          path: `/api/block/${hash}${rest}`,
        }),
      ),
    ]),
    ...[...some.map(({ height }) => height), last + 1].map((height) => ({ path: `/api/block-by-height/${height}` })),
    ...['', '?limit=7', `?before=${last - 3}&limit=20`, '?before=9&limit=2'].map((query) => ({
      path: `/api/blocks${query}`,
    })),
    ...['', '?from=5&count=20', '?from=100000'].map((query) => ({ path: `/api/headers${query}` })),
    { path: '/api/blocks/tip' },
    ...[...sampleOf(txids, count), unknown].flatMap((txid) =>
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
    ...slicesOf(sampleOf(txids, 900 * count), 900).map((part) => ({
      path: '/api/txs/status',
      body: { txids: [...part, unknown] },
    })),
    ...slicesOf(sampleOf(txids, 100 * count), 300).map((part) => ({
      ...{ path: '/api/txs/details', body: { txids: [...part, unknown] } },
    })),
    ...[...sampleOf(addresses, count), 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080', 'none'].flatMap((address) => [
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
    ...slicesOf(sampleOf(addresses, 1000 * count), 1000).map((part) => ({
      path: '/api/balances',
      body: { addresses: part },
    })),
    ...slicesOf(sampleOf(addresses, 20 * count), 300).map((part) => ({
      path: '/api/utxos?limit=500',
      body: { addresses: part },
    })),
    ...['used', 'all'].map((shows) => ({ path: `/api/xpub?addresses=${shows}`, body: { descriptor: DESCRIPTOR } })),
    ...['txs?limit=3', 'txs?limit=4&order=asc&details=full', 'utxos?limit=3'].map((rest) => ({
      ...{ path: `/api/xpub/${rest}`, body: { descriptor: DESCRIPTOR } },
    })),
    { path: '/api/difficulty' },
    ...SERIES.flatMap((series) =>
      RANGES.slice(0, 1 + count).flatMap((range) =>
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

async function mineToDescriptor(api: ApiClient, blocks: number): Promise<void> {
  const { descriptor } = await api.rpc<{ descriptor: string }>('getdescriptorinfo', [DESCRIPTOR.replace('<0;1>', '0')]);
  const addresses = await api.rpc<string[]>('deriveaddresses', [descriptor, [0, 30]]);
  for (let i = 0; i < blocks; i++) await api.rpc('generatetoaddress', [1, addresses[(i * 3) % 31]]);
}
