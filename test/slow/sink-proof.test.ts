import { expect, setDefaultTimeout, test } from 'bun:test';
import { SQL } from 'bun';
import { mixedDirectory } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { expectedTables, sinkAt, sinkTables } from '../lib/sink-rows.ts';
import { sink } from '../proof/sink.ts';
import { sinkChain } from '../proof/sink-chain.ts';

cleanUpAfterTests();

/** The chain creates and spends coins of all kinds up to here. */
const ALL_KINDS = 112;
setDefaultTimeout(180_000);

test('the first fill has the rows of a chain with scripts of all kinds', async () => {
  await using postgres = await PostgresServer.start();
  // The chain is old, and would count as one in initial sync.
  const args = ['--chain.initialSyncAge=2000000000'];
  const datadir = await mixedDirectory(ALL_KINDS);
  const node = await startNode({ datadir, args, env: { OBVERSE_SINK_POSTGRES: postgres.url } });
  const { bestBlockHash } = await node.api.json<{ bestBlockHash: string }>('/api/info');
  await using sql = new SQL(postgres.url, { max: 1 });
  await sinkAt(sql, bestBlockHash);
  const [rows, expected] = await Promise.all([sinkTables(sql), expectedTables(node.api)]);
  expect(rows).toEqual(expected);
  await node.stop();
});

test('kills of the nodes and of the database leave the rows of the chain and its events', async () => {
  const { violations, figures } = await sink.run(4, 4, new AbortController().signal);
  expect(violations).toEqual([]);
  expect(new Map(figures).get('events')).toBeGreaterThan(110);
});

test('kills during the first fill and a reorg leave the rows of the chain', async () => {
  const { violations, figures } = await sinkChain.run(2, 5, new AbortController().signal);
  expect(violations).toEqual([]);
  expect(new Map(figures).get('rows compared')).toBeGreaterThan(5000);
});
