import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { Random } from '../fuzz/random.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { MempoolActivity } from '../lib/mempool-activity.ts';
import { mempoolLoaded } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, poll, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { recentChain, tipHash } from '../lib/sample-chains.ts';
import { BLOCKS, expectOwnLog, expectTransactions, FedDatabase } from '../lib/sink-mempool.ts';
import { brokenEvents, sinkAt } from '../lib/sink-rows.ts';

cleanUpAfterTests();

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(() => postgres[Symbol.asyncDispose]());

test('the events of chain and mempool have the order of the log of the node, over replacements, blocks and reorgs', async () => {
  await using fed = await FedDatabase.start(postgres, 'ordered', { nodes: 2 });
  const { activity, sql } = fed;
  const random = new Random(7);
  for (let step = 0; step < 14; step++) {
    for (let i = random.int(6); i >= 0; i--) await activity.pay();
    if (step % 4 === 3) await activity.reorganize();
    else await activity.mine();
    // The database has only the outcome of two changes of the same block within a moment.
    await sinkAt(sql, tipHash(activity.chain));
  }
  const { compared, gaps } = await expectOwnLog(sql, fed.leader.api);
  expect(gaps).toBe(1);
  expect(compared).toBeGreaterThan(80);
  expect(activity.reorgs).toBe(3);
  expect(activity.replacements).toBeGreaterThan(2);
  expect((await brokenEvents(sql)).faults).toEqual([]);
  expect(await expectTransactions(sql, activity)).toBeGreaterThan(40);
  const metrics = await fed.leader.api.request('/metrics');
  expect(metrics.text).toMatch(/^obverse_sink_mempool_gaps_total(\{[^}]*\})? 1$/m);
  expect(metrics.text).toMatch(/^obverse_sink_mempool_events_total(\{[^}]*\})? [1-9]\d+$/m);
  expect((await fed.nodes[1]!.api.request('/metrics')).text).toMatch(
    /^obverse_sink_mempool_events_total(\{[^}]*\})? 0$/m,
  );
});

test('after the death of the leader one gap of the mempool is announced, and no event of the chain is lost or doubled', async () => {
  await using fed = await FedDatabase.start(postgres, 'leader', { nodes: 2 });
  const { activity, sql } = fed;
  for (let step = 0; step < 4; step++) {
    for (let i = 0; i < 4; i++) await activity.pay();
    await activity.mine();
  }
  await sinkAt(sql, tipHash(activity.chain));
  await activity.reorganize();
  await activity.pay();
  const former = fed.nodes.shift()!;
  await former.stop('SIGKILL');
  const last = await fed.lastSeq();
  for (let i = 0; i < 3; i++) await activity.pay();
  await activity.mine();
  await sinkAt(sql, tipHash(activity.chain));
  await fed.isWriting(last);
  for (let i = 0; i < 3; i++) await activity.pay();
  await activity.reorganize();
  const { gaps } = await expectOwnLog(sql, fed.leader.api);
  expect(gaps).toBe(2);
  expect((await brokenEvents(sql)).faults).toEqual([]);
  const [gap] =
    await sql`SELECT seq, data FROM obverse.mempool_events WHERE type = 'gap' AND seq > 1 ORDER BY seq DESC LIMIT 1`;
  const seq = Number(gap.seq);
  const [newest] = await sql`SELECT max(seq) AS seq FROM obverse.events WHERE seq < ${seq}`;
  expect(seq).toBeGreaterThan(last);
  expect(JSON.parse(gap.data)).toEqual({
    ...{ seq, time: expect.any(Number), scope: 'mempool', fromSeq: seq, toSeq: seq },
    lastChainSeq: Number(newest.seq),
  });
});

test('a kill of the database doubles nothing, and what waited meanwhile is written', async () => {
  await using fed = await FedDatabase.start(postgres, 'killed', { nodes: 1 });
  const { activity } = fed;
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 4; i++) await activity.pay();
    await activity.mine();
    // In the midst of transactions of the sink.
    const paying = activity.pay();
    await fed.sql.close();
    await postgres.kill();
    await paying;
    for (let i = 0; i < 3; i++) await activity.pay();
    if (round === 1) await activity.mine();
    await postgres.run();
    fed.sql = new SQL(fed.url, { max: 1 });
    await sinkAt(fed.sql, tipHash(activity.chain));
  }
  const { gaps } = await expectOwnLog(fed.sql, fed.leader.api);
  expect(gaps).toBe(1);
  expect((await brokenEvents(fed.sql)).faults).toEqual([]);
});

test('a database of version 1 gets the tables of the mempool', async () => {
  await using fed = await FedDatabase.start(postgres, 'older', { nodes: 1 });
  const { activity, sql } = fed;
  const datadir = fed.leader.datadir;
  await fed.nodes.shift()!.stop();
  const last = await fed.lastSeq();
  await sql`DROP TABLE obverse.mempool_events`;
  await sql`DROP TABLE obverse.mempool_position`;
  await sql`UPDATE obverse.sink_position SET version = 1`;
  fed.nodes.push(await startNode({ datadir, env: { OBVERSE_SINK_POSTGRES: fed.url } }));
  await poll('the tables', async () => (await sql`SELECT version FROM obverse.sink_position`)[0].version === 2);
  await mempoolLoaded(fed.leader);
  await activity.pay();
  await fed.isWriting(last);
  const { gaps } = await expectOwnLog(sql, fed.leader.api);
  expect(gaps).toBe(1);
});

test('events of the mempool that the database refuses become a gap, and hold up no block', async () => {
  await using fed = await FedDatabase.start(postgres, 'refusing', { nodes: 1 });
  const { activity, sql } = fed;
  await activity.mine();
  await sinkAt(sql, tipHash(activity.chain));
  await sql.unsafe(
    `ALTER TABLE obverse.mempool_events ADD CONSTRAINT refused CHECK (type <> 'newTransaction') NOT VALID`,
  );
  for (let i = 0; i < 3; i++) await activity.pay();
  await activity.mine();
  await sinkAt(sql, tipHash(activity.chain));
  await sql.unsafe('ALTER TABLE obverse.mempool_events DROP CONSTRAINT refused');
  await activity.mine();
  await activity.pay();
  const { gaps } = await expectOwnLog(sql, fed.leader.api);
  expect(gaps).toBeGreaterThan(1);
  expect((await brokenEvents(sql)).faults).toEqual([]);
});

test('old events of the mempool are removed, and those of the chain remain', async () => {
  await using fed = await FedDatabase.start(postgres, 'retention', { nodes: 1, args: ['--sink.mempoolEvents=20'] });
  const { activity, sql } = fed;
  for (let step = 0; step < 6; step++) {
    for (let i = 0; i < 5; i++) await activity.pay();
    await activity.mine();
  }
  await expectOwnLogTail(fed);
  const [{ oldest, newest }] = await sql`SELECT min(seq) AS oldest, max(seq) AS newest FROM obverse.mempool_events`;
  const [{ removed_to: removedTo }] = await sql`SELECT removed_to FROM obverse.mempool_position`;
  expect(Number(oldest)).toBeGreaterThanOrEqual(Number(removedTo));
  // A step removes 20 numbers at least.
  expect(Number(newest) - Number(oldest)).toBeLessThan(60);
  const [{ blocks }] = await sql`SELECT count(*) AS blocks FROM obverse.events WHERE type = 'newBlock'`;
  expect(Number(blocks)).toBe(BLOCKS + 7);
});

test('no event of the mempool is written where none is wanted', async () => {
  const args = ['--sink.mempoolEvents=0'];
  const chain = recentChain(BLOCKS);
  const url = postgres.createDatabase('unwanted');
  await using sql = new SQL(url, { max: 1 });
  const node = await startNode({ datadir: await directoryWith(chain), args, env: { OBVERSE_SINK_POSTGRES: url } });
  await mempoolLoaded(node);
  await sinkAt(sql, tipHash(chain));
  const activity = new MempoolActivity(new Random(3), chain, () => [node.api]);
  await activity.pay();
  await activity.mine();
  await sinkAt(sql, tipHash(activity.chain));
  expect((await sql`SELECT count(*) AS count FROM obverse.mempool_events`)[0].count).toBe('0');
  expect((await brokenEvents(sql)).faults).toEqual([]);
  await node.stop();
});

/** Waits until the newest event of the database is that of the node. */
async function expectOwnLogTail({ sql, activity }: FedDatabase): Promise<void> {
  await sinkAt(sql, tipHash(activity.chain));
  await poll('the event after the block', async () => {
    const [row] =
      await sql`SELECT data FROM obverse.mempool_events WHERE type = 'mempoolUpdate' ORDER BY seq DESC LIMIT 1`;
    return row !== undefined && JSON.parse(row.data).tip.hash === tipHash(activity.chain);
  });
}
