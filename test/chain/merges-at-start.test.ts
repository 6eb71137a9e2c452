import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Chain } from '../../src/chain/chain.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type MergeJob, mergeRuns } from '../../src/storage/runs/merge-runs.ts';
import type { BuiltRun } from '../../src/storage/runs/run-builder.ts';
import { hostClock } from '../../src/util/clock.ts';
import { DEFAULT_INDEXES, silentLog, trustingVerifier } from '../lib/chain-fixture.ts';
import { recentChain } from '../lib/sample-chains.ts';

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'obverse-merges-'))));
afterEach(() => rmSync(dir, { recursive: true }));

function openChain(merge: (job: MergeJob) => Promise<BuiltRun>): Chain {
  return new Chain(
    { dir, params: regtest, coinsCacheBytes: 16 * 1024 * 1024, databaseCacheMiB: 4, indexes: DEFAULT_INDEXES },
    { verifier: trustingVerifier, clock: hostClock, log: silentLog, mergeRuns: merge },
  );
}

const runCounts = (chain: Chain) => chain.runCounts.map(({ runs }) => runs);

test('merges that a stop interrupted begin again at the start, without a commit', async () => {
  const blocks = recentChain(112, { payments: 600 }).blocks.slice(1);
  // A merge that does not end before the stop.
  const first = openChain(() => new Promise(() => {}));
  for (const { raw } of blocks) await first.acceptBlock(raw);
  await first.settle();
  const before = runCounts(first);
  expect(Math.max(...before)).toBeGreaterThanOrEqual(8);
  await first.close();

  const merged: string[] = [];
  const second = openChain(async (job) => {
    merged.push(job.family.name);
    return mergeRuns(job);
  });
  for (let turns = 0; turns < 100 && Math.max(...runCounts(second)) >= 8; turns++) await new Promise(setImmediate);
  expect(merged.length).toBeGreaterThan(0);
  expect(Math.max(...runCounts(second))).toBeLessThan(8);
  expect(second.tip.height).toBe(112);
  await second.close();
});
