import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { directoryWith } from '../lib/chain-directory.ts';
import { submit } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, copyDatadir, poll, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { extend, recentChain, tipHash } from '../lib/sample-chains.ts';
import { brokenEvents, compareSink, sinkAt } from '../lib/sink-rows.ts';

cleanUpAfterTests();

const TAKEOVER_MS = 10_000;

test('a leader whose host stops in the middle of COPY loses the lease, and its transaction ends', async () => {
  await using postgres = await PostgresServer.start();
  await using sql = new SQL(postgres.url, { max: 1 });
  await using locking = new SQL(postgres.url, { max: 1 });
  const chain = recentChain(112, { payments: 3 });
  const datadir = await directoryWith(chain);
  const env = { OBVERSE_SINK_POSTGRES: postgres.url };
  const leader = await startNode({ datadir: copyDatadir(datadir), env });
  await sinkAt(sql, tipHash(chain));
  const other = await startNode({ datadir, env });
  await other.output('stderr', /"msg":"another node writes the sink"/);

  extend(chain, 1, 3);
  const copying = () =>
    sql<{ waits: string | null }[]>`
      SELECT wait_event_type AS waits FROM pg_stat_activity
      WHERE query LIKE 'COPY obverse.blocks %' AND state = 'active'`;
  await locking.begin(async (tx) => {
    // The statement waits, so that the leader has sent no row when it stops.
    await tx`LOCK TABLE obverse.blocks IN SHARE MODE`;
    await submit(leader.api, chain.blocks.at(-1)!);
    await poll('COPY at the lock', async () => (await copying())[0]?.waits === 'Lock');
    leader.kill('SIGSTOP');
  });
  const stoppedAt = performance.now();
  // On a host that stands still for long, another leader has ended the transaction by now.
  await poll('COPY at its client', async () => (await copying()).every(({ waits }) => waits === 'Client'));
  await submit(other.api, chain.blocks.at(-1)!);
  await sinkAt(sql, tipHash(chain));
  expect(performance.now() - stoppedAt).toBeLessThan(TAKEOVER_MS);

  leader.kill('SIGCONT');
  await leader.output('stderr', /"msg":"another node writes the sink"/);
  extend(chain, 1, 3);
  for (const { api } of [leader, other]) await submit(api, chain.blocks.at(-1)!);
  await sinkAt(sql, tipHash(chain));
  expect((await compareSink(sql, leader.api)).different).toEqual([]);
  expect((await brokenEvents(sql)).faults).toEqual([]);
  for (const node of [leader, other]) await node.stop();
});
