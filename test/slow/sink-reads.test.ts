import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { mixedDirectory } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { SinkRest } from '../lib/sink-rest.ts';
import { sinkAt } from '../lib/sink-rows.ts';
import { comparePages, type PaidTx, sinkReplies } from '../proof/sink-replies.ts';

cleanUpAfterTests();
setDefaultTimeout(180_000);

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
  const { items } = await node.api.json<{ items: PaidTx[] }>(`/api/block/${hash}/txs`);
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
  const txs = await node.api.json<{ items: PaidTx[] }>(`/api/block/${items[0]!.hash}/txs`);
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
  const violations: string[] = [];
  await comparePages({ path: '/api/blocks/tip' }, { api: node.api, server, violations });
  expect(violations).toEqual([]);
});

test('no answer is of a lower tip than the height that a request names', async () => {
  const { height } = await node.api.json<{ height: number }>('/api/info');
  const at = (wanted: number) =>
    server.request<{ error: object }>('/api/blocks/tip', { headers: { 'x-chain-height': String(wanted) } });
  expect((await at(height)).status).toBe(200);
  const { status, body } = await at(height + 1);
  expect({ status, ...body.error }).toMatchObject({
    ...{ status: 503, code: 'syncing', details: { height, wanted: height + 1 } },
  });
});

test('a database of another network, or one that is being filled, gives no answer', async () => {
  await using other = new SinkRest(postgres.url, { network: 'main' });
  const refused = await other.request<{ error: object }>('/api/blocks/tip');
  expect(refused.body.error).toMatchObject({ code: 'warming_up' });
  expect(refused.text).toContain('the chain of network regtest, not of main');
});

test('answers with many rows are refused while all together hold too many, and made again afterwards', async () => {
  await using small = new SinkRest(postgres.url, { maxRowBytes: 1 << 18 });
  await small.service.readTip();
  const { items } = await node.api.json<{ items: { height: number }[] }>('/api/blocks?limit=50');
  const paths = items.map(({ height }) => `/api/block-by-height/${height}`);
  const ask = async (path: string) => {
    const { status, body } = await small.request<{ error?: { code: string } }>(path);
    return status === 200 ? 'ok' : body.error?.code;
  };
  const together = await Promise.all([...paths, '/api/chart/fees?range=all'].map(ask));
  expect(new Set(together)).toEqual(new Set(['ok', 'overloaded']));
  // No row is counted that its answer does not hold any more.
  for (const path of paths) expect(await ask(path)).toBe('ok');
});

test('every route over the tables gives the replies of the node, before and after a reorg', async () => {
  const { violations, figures } = await sinkReplies.run(1, 1, new AbortController().signal);
  expect(violations).toEqual([]);
  expect(new Map(figures).get('replies compared')).toBeGreaterThan(100);
});
