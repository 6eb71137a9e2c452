import { Chain } from '../../src/chain/chain.ts';
import { runIndexJob } from '../../src/indexes/index-job.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hostClock } from '../../src/util/clock.ts';
import { ALL_INDEXES, inlineVerifier, silentLog } from '../lib/chain-fixture.ts';

/** Builds the indexes of the chain in the folder of the argument block by block, with a line of output for each. */
const chain = new Chain(
  {
    dir: process.argv[2]!,
    params: regtest,
    coinsCacheBytes: 64 * 1024 * 1024,
    databaseCacheMiB: 16,
    indexes: ALL_INDEXES,
  },
  { verifier: inlineVerifier, clock: hostClock, log: silentLog },
);
for (let planned = chain.indexes.nextJob(1); planned !== null; planned = chain.indexes.nextJob(1)) {
  chain.indexes.finishJob(planned, runIndexJob(planned.job));
  process.stdout.write(`${planned.to!.height}\n`);
  // Lets the reader of the output end this process.
  await new Promise((resolve) => setTimeout(resolve, 5));
}
await chain.close();
