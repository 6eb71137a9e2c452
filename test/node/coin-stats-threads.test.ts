import { expect, test } from 'bun:test';
import { CoinStatsThreads } from '../../src/indexes/coin-stats-threads.ts';
import { followCoinStats } from '../../src/node/index-build.ts';
import { systemClock } from '../../src/util/clock.ts';
import { threads } from '../../src/util/worker.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { DEFAULT_INDEXES, silentLog, TestNode } from '../lib/chain-fixture.ts';
import { poll } from '../lib/node-process.ts';

const ON = { ...DEFAULT_INDEXES, coinStats: true };
const BLOCKS = 30;
const chain = new RegtestChain({ to: 'anyone' });
chain.mine(BLOCKS);
const blocks = chain.blocks.slice(1);

const running = () => threads.views().filter(({ name }) => name.startsWith('coinstats')).length;

test('one thread stays while the node follows the chain, by one block and by several', async () => {
  await using node = new TestNode({ indexes: ON });
  const ended = new AbortController();
  const workers = new CoinStatsThreads(3);
  const counts = new Set<number>();
  let jobs = 0;
  const following = followCoinStats(node.chain, {
    clock: systemClock,
    log: silentLog,
    dir: node.dir,
    signal: ended.signal,
    onBuilt: () => workers.closeFurther(),
    onProblem: (problem) => {
      if (problem) throw new Error(problem.problem);
    },
    async runJob(job) {
      const result = workers.runJob(job);
      counts.add(running());
      jobs++;
      return result;
    },
  });
  for (const at of [0, 1, 2, 12, 13]) {
    await node.take(blocks.slice(at, at === 2 ? 12 : at + 1));
    await node.chain.coinStats.caughtUp(ended.signal);
  }
  expect(node.chain.coinStats.height).toBe(14);
  expect([[...counts], jobs >= 5, running()]).toEqual([[1], true, 1]);
  ended.abort();
  await workers.close();
  await node.take(blocks.slice(14));
  await following;
  await poll('the end of the thread', () => running() === 0);
});

test('threads that are closed while they load end, and their job is rejected', async () => {
  await using node = new TestNode({ indexes: ON });
  await node.take(blocks);
  const { job } = node.chain.coinStats.nextJob()!;
  // Large enough for each of the threads.
  const large = { ...job, blocks: job.blocks.map((block) => ({ ...block, body: { ...block.body, size: 2 ** 20 } })) };
  const workers = new CoinStatsThreads(3);
  const result = workers.runJob(large).catch((error: Error) => error.message);
  expect(running()).toBe(3);
  await workers.close();
  expect(await result).toBe('the coin stats thread is closed');
  await poll('the end of the threads', () => running() === 0);
  // The same threads start again for the next job.
  const { rows } = await workers.runJob(job);
  expect(rows.length).toBe(job.blocks.length);
  await workers.close();
  await poll('the end of the thread', () => running() === 0);
});
