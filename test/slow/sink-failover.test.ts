import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { directoryWith } from '../lib/chain-directory.ts';
import { mine } from '../lib/mempool-node.ts';
import type { ErrorBody } from '../lib/node-client.ts';
import { cleanUpAfterTests, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { recentChain, tipHash } from '../lib/sample-chains.ts';
import { startServe } from '../lib/serve-process.ts';
import { brokenEvents, expectedTables, sinkAt, sinkTables } from '../lib/sink-rows.ts';

cleanUpAfterTests();

interface Page {
  readonly lastCursor: string;
  readonly lastSeq: number;
}

const LATEST = '/api/events?types=newBlock';

test('after a failover to a replica that lacks events, the rows are complete and cursors of before are refused', async () => {
  await using postgres = await PostgresServer.start();
  const { url } = postgres;
  const chain = recentChain(104, { payments: 2 });
  let sql = new SQL(url, { max: 1 });
  const node = await startNode({ datadir: await directoryWith(chain), env: { OBVERSE_SINK_POSTGRES: url } });
  await sinkAt(sql, tipHash(chain));
  const tag = async () => (await sql`SELECT log_tag FROM obverse.sink_position`)[0].log_tag as string;
  const before = await tag();
  await sql.close();
  await postgres.storeCopy();

  sql = new SQL(url, { max: 1 });
  for (let i = 0; i < 3; i++) await mine(node.api, chain);
  await sinkAt(sql, tipHash(chain));
  // A restart of the database that loses nothing changes no tag.
  expect(await tag()).toBe(before);
  const server = await startServe({ url });
  const seen = await server.api.json<Page>(LATEST);
  await sql.close();
  await postgres.failOverToCopy();

  // The numbers pass those of before, which would hide the loss.
  for (let i = 0; i < 4; i++) await mine(node.api, chain);
  sql = new SQL(url, { max: 1 });
  await sinkAt(sql, tipHash(chain));
  // Changes of the mempool that come close together are one event, so the number of events depends on time.
  const nextSeq = async () => Number((await sql`SELECT next_seq FROM obverse.sink_position`)[0].next_seq);
  while ((await nextSeq()) <= seen.lastSeq + 1) {
    await mine(node.api, chain);
    await sinkAt(sql, tipHash(chain));
  }
  await node.output(
    'stderr',
    /"msg":"the database of the sink lacks events that it had: cursors of before are refused"/,
  );
  expect([await sinkTables(sql), (await brokenEvents(sql)).faults]).toEqual([await expectedTables(node.api), []]);
  const after = await tag();
  expect([after.slice(0, 4), after === before]).toEqual([before.slice(0, 4), false]);
  await node.until('the count', async () =>
    /^obverse_sink_rollbacks_total(\{[^}]*\})? 1$/m.test((await node.api.request('/metrics')).text),
  );

  // A server does not mix the two histories.
  expect((await server.exited).status).toBe(1);
  const next = await startServe({ url });
  const { status, body } = await next.api.request<ErrorBody>(`${LATEST}&after=${seen.lastCursor}`);
  expect([status, body.error.code, body.error.details]).toEqual([
    ...[400, 'invalid_cursor'],
    { parameter: 'after', reason: 'other-history' },
  ]);
  expect((await next.api.json<Page>(LATEST)).lastSeq).toBeGreaterThan(seen.lastSeq);
  await sql.close();
});
