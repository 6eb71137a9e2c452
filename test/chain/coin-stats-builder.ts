import { Chain } from '../../src/chain/chain.ts';
import { runCoinStatsJob, runCoinStatsTask } from '../../src/indexes/coin-stats-job.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hostClock } from '../../src/util/clock.ts';
import { DEFAULT_INDEXES, inlineVerifier, silentLog } from '../lib/chain-fixture.ts';

/** Computes the statistics of the chain in the folder of the argument block by block, with a line of output for each. */
const chain = new Chain(
  {
    dir: process.argv[2]!,
    params: regtest,
    coinsCacheBytes: 64 * 1024 * 1024,
    databaseCacheMiB: 16,
    indexes: { ...DEFAULT_INDEXES, coinStats: true },
  },
  { verifier: inlineVerifier, clock: hostClock, log: silentLog },
);
for (let planned = chain.coinStats.nextJob(1); planned !== null; planned = chain.coinStats.nextJob(1)) {
  chain.coinStats.finishJob(planned, await runCoinStatsJob(planned.job, [async (task) => runCoinStatsTask(task)]));
  process.stdout.write(`${planned.to.height}\n`);
  // Lets the reader of the output end this process.
  await new Promise((resolve) => setTimeout(resolve, 5));
}
await chain.close();
