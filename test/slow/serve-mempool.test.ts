import { afterAll, beforeAll, expect, test } from 'bun:test';
import { cleanUpAfterTests, poll, TEST_KEY } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { tipHash } from '../lib/sample-chains.ts';
import { type ServeProcess, startServe } from '../lib/serve-process.ts';
import { FedDatabase } from '../lib/sink-mempool.ts';
import { sinkAt, sinkEvents } from '../lib/sink-rows.ts';
import { type Message, WsClient } from '../ws/ws-client.ts';

cleanUpAfterTests();

const EVENTS = ['newBlock', 'blockDisconnected', 'reorg', 'newTransaction', 'transactionRemoved', 'mempoolUpdate'];

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(() => postgres[Symbol.asyncDispose]());

interface EventPage {
  readonly items: readonly Message[];
  readonly lastCursor: string;
  readonly gap: { readonly scope: string; readonly fromSeq: number; readonly toSeq: number } | null;
}

const page = (server: ServeProcess, after: string | number, types = EVENTS) =>
  server.api.json<EventPage>(`/api/events?after=${after}&limit=1000&types=${types.join()}`);

async function follow(server: ServeProcess, after: string | null = null): Promise<WsClient> {
  const client = new WsClient(server.api.url, { headers: { authorization: `Bearer ${TEST_KEY}` } });
  expect(await client.opened).toBe(true);
  await client.ask('subscribe', { events: EVENTS, replace: true, ...(after !== null && { after }) });
  return client;
}

const eventsOf = ({ received }: WsClient) =>
  received.filter(({ id, type }) => id === undefined && (EVENTS.includes(type) || type === 'gap'));
const withoutCursor = ({ type, data: { cursor: _, ...data } }: Message) => ({ type, data });

test('servers deliver the events of chain and mempool with the numbers of the database, and a gap of the mempool', async () => {
  await using fed = await FedDatabase.start(postgres, 'served', { nodes: 2 });
  const { activity, sql } = fed;
  const args = ['--network=regtest'];
  const first = await startServe({ url: fed.url, args });
  using client = await follow(first);
  const from = await fed.lastSeq();

  for (let i = 0; i < 4; i++) await activity.pay();
  await activity.mine();
  for (let i = 0; i < 4; i++) await activity.pay();
  await sinkAt(sql, tipHash(activity.chain));
  await activity.reorganize();
  await sinkAt(sql, tipHash(activity.chain));
  await fed.nodes.shift()!.stop('SIGKILL');
  const last = await fed.lastSeq();
  await activity.pay();
  await activity.mine();
  await fed.isWriting(last);
  await activity.pay();

  const expected = async () => {
    const rows = (await sinkEvents(sql)).filter(({ seq }) => Number(seq) > from);
    return rows.map(({ type, data }) => ({ type, data: JSON.parse(data) as Record<string, unknown> }));
  };
  const lastTxid = [...activity.sent.keys()].at(-1);
  await poll('the totals after the last transaction', async () => {
    const rows = await expected();
    return rows.at(-1)!.type === 'mempoolUpdate' && rows.some(({ data }) => data.txid === lastTxid);
  });
  await poll('the last event', async () => eventsOf(client).at(-1)?.data.seq === (await expected()).at(-1)!.data.seq);
  const rows = await expected();
  const gapAt = rows.findIndex(({ type }) => type === 'gap');
  expect(gapAt).toBeGreaterThan(10);
  const seq = rows[gapAt]!.data.seq;
  const live = eventsOf(client);
  expect(live.filter(({ type }) => type !== 'gap').map(withoutCursor)).toEqual(
    rows.filter(({ type }) => type !== 'gap'),
  );
  const gaps = live.filter(({ type }) => type === 'gap');
  expect(gaps.map(({ data }) => data)).toEqual([
    expect.objectContaining({ scope: 'mempool', toSeq: seq, lastChainSeq: expect.any(Number) }),
  ]);

  // A server that starts later continues each client of the first one.
  const second = await startServe({ url: fed.url, args });
  const before = live.find(({ type }) => type === 'newTransaction')!;
  // It answers while it still reads the newest events, and then has fewer.
  const across = await poll('all events', async () => {
    const read = await page(second, String(before.data.cursor));
    return read.items.at(-1)?.data.seq === rows.at(-1)!.data.seq && read;
  });
  expect(across.gap).toMatchObject({ scope: 'mempool', toSeq: seq });
  const behind = rows.filter(({ data, type }) => Number(data.seq) > Number(before.data.seq) && type !== 'gap');
  expect(across.items.map(withoutCursor)).toEqual(behind);
  const after = live.find(({ data, type }) => Number(data.seq) > Number(seq) && type !== 'gap')!;
  expect((await page(second, String(after.data.cursor))).gap).toBeNull();
  // Blocks alone have no gap.
  expect((await page(second, String(before.data.cursor), ['newBlock', 'reorg'])).gap).toBeNull();
  using resumed = await follow(second, String(before.data.cursor));
  await poll('the last event', () => eventsOf(resumed).at(-1)?.data.seq === rows.at(-1)!.data.seq);
  expect(
    eventsOf(resumed)
      .filter(({ type }) => type !== 'gap')
      .map(withoutCursor),
  ).toEqual(behind);
  expect(eventsOf(resumed).filter(({ type }) => type === 'gap')).toHaveLength(1);
  expect(resumed.received.find(({ type }) => type === 'newTransaction')).toEqual(
    live.find(({ data, type }) => type === 'newTransaction' && Number(data.seq) > Number(before.data.seq))!,
  );
});

test('the addresses of a transaction are matched by what the database has of it', async () => {
  await using fed = await FedDatabase.start(postgres, 'matched', { nodes: 1 });
  const server = await startServe({ url: fed.url, args: ['--network=regtest'] });
  using client = await follow(server);
  const { activity } = fed;
  const { scriptPubKey } = activity.chain.coin(1).output;
  await client.ask('subscribe', { events: ['addressTransaction'], replace: true });
  const address = `script:${scriptPubKey.toHex()}`;
  await client.ask('watch', { addresses: [address] });
  await activity.pay();
  const [txid] = activity.sent.keys();
  const { data } = await client.next(({ type }) => type === 'addressTransaction');
  // All coinbases of the chain pay to this script, and a payment spends one of them.
  expect(data).toMatchObject({ txid, phase: 'mempool', sent: 5_000_000_000 });
  expect(data.inputs).toEqual([expect.objectContaining({ n: 0, value: 5_000_000_000 })]);
});
