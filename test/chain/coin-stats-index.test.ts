import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Chain } from '../../src/chain/chain.ts';
import { verifyFolder } from '../../src/chain/integrity/verify-folder.ts';
import { MuHash3072 } from '../../src/crypto/muhash.ts';
import { runCoinStatsJob, runCoinStatsTask } from '../../src/indexes/coin-stats-job.ts';
import { followCoinStats, type IndexProblem } from '../../src/node/index-build.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { CoinStats } from '../../src/storage/coin-stats-store.ts';
import { encodeSetElement } from '../../src/storage/utxo-hash.ts';
import { ByteWriter } from '../../src/util/bytes.ts';
import { systemClock } from '../../src/util/clock.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { DEFAULT_INDEXES, mixedBlocks, silentLog, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { coinOf, spend, sweep } from '../lib/tx-builder.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

const ON = { ...DEFAULT_INDEXES, coinStats: true };

/** A chain that spends coins of earlier blocks and of its own, and a branch from ten blocks below its tip that is longer. */
const chain = new RegtestChain({ to: 'anyone' });
chain.mine(101);
for (let i = 1; i <= 12; i++) {
  const first = spend(chain.coin(i), [
    { to: 'anyone', value: 10_0000_0000n },
    { to: 'p2wpkh', value: 39_0000_0000n },
  ]);
  chain.mine(1, { txs: [first, sweep(coinOf(first, 0), 'p2pkh')] });
}
const branch = chain.fork(chain.height - 9);
for (let i = 0; i < 15; i++) branch.mine(1, { txs: [sweep(branch.coin(i + 4), 'p2tr')] });
const blocksOf = ({ blocks }: RegtestChain) => blocks.slice(1);

/** Threads that compute the parts of a job, as copies of their messages. */
const threads = Array.from(
  { length: 3 },
  () =>
    async (...[task]: Parameters<typeof runCoinStatsTask>) =>
      structuredClone(runCoinStatsTask(structuredClone(task))),
);

/** Runs jobs of a few blocks each until the index covers the tip. */
async function build({ coinStats }: Chain, limit: number): Promise<void> {
  for (;;) {
    const planned = coinStats.nextJob(limit);
    if (planned === null) break;
    coinStats.finishJob(planned, await runCoinStatsJob(planned.job, threads));
  }
  expect(coinStats.progress().every(({ live }) => live)).toBe(true);
}

/** Statistics of the UTXO set at the tip, computed from the coins themselves. */
function statsOfCoins(node: TestNode): Pick<CoinStats, 'txouts' | 'bogosize' | 'totalAmount'> & { muhash: string } {
  return node.read(({ coins }) => {
    const set = new MuHash3072();
    let txouts = 0;
    let bogosize = 0;
    let totalAmount = 0n;
    for (const coin of coins.all()) {
      const w = new ByteWriter();
      encodeSetElement(w, coin);
      set.insert(w.finish());
      txouts++;
      bogosize += 50 + coin.output.scriptPubKey.length;
      totalAmount += coin.output.value;
    }
    return { muhash: hashToHex(set.digest()), txouts, bogosize, totalAmount };
  });
}

/** The statistics of the index at the tip. */
function statsOfTip(node: TestNode) {
  const { muhash, txouts, bogosize, totalAmount } = node.read(({ coinStats }) => coinStats.get(node.chain.tip.id))!;
  return { muhash: hashToHex(muhash), txouts, bogosize, totalAmount };
}

/** The statistics at each height of the active chain. */
function allStats(node: TestNode): (CoinStats | null)[] {
  return node.read(({ coinStats, headers }) =>
    Array.from({ length: node.chain.tip.height + 1 }, (_, height) => coinStats.get(headers.byHeight(height)!.id)),
  );
}

/** Parts and heights of the findings of `obverse verify` in the folder of a closed node. */
function findingsOf({ dir }: TestNode): (readonly [part: string, height: number | null])[] {
  const check = verifyFolder(dir, regtest, 'full');
  for (;;) {
    const { done, value } = check.next();
    if (done) return value.findings.map(({ part, height }) => [part, height] as const);
  }
}

describe('the statistics of the UTXO set', () => {
  test.skipIf(!hasVectors)(
    'have the MuHash of Bitcoin Core at every height, and its number and value of outputs',
    async () => {
      interface Expected {
        muhashByHeight: Record<string, string>;
        txoutset: { hash_serialized_3: { txouts: number; bogosize: number } };
      }
      const expected = readVectorJson<Expected>('chains/regtest-mixed-160.expected.json');
      await using node = new TestNode({ verifier: trustingVerifier, indexes: ON });
      await node.take(mixedBlocks());
      await build(node.chain, 70);
      const stats = allStats(node);
      for (const [height, row] of stats.entries())
        expect(`${height} ${hashToHex(row!.muhash)}`).toBe(`${height} ${expected.muhashByHeight[height]}`);
      const { txouts, bogosize } = expected.txoutset.hash_serialized_3;
      expect(statsOfTip(node)).toMatchObject({ txouts, bogosize, totalAmount: 7724_8712_3000n });
    },
  );

  test('follow a reorg, and those of disconnected blocks stay', async () => {
    await using node = new TestNode({ indexes: ON });
    await node.take(blocksOf(chain));
    await build(node.chain, 40);
    expect(statsOfTip(node)).toEqual(statsOfCoins(node));
    const stale = node.chain.tip;
    const before = node.read(({ coinStats }) => coinStats.get(stale.id));
    await node.take(blocksOf(branch));
    // A job of a few blocks ends within those that left the chain.
    await build(node.chain, 4);
    expect(statsOfTip(node)).toEqual(statsOfCoins(node));
    expect(node.read(({ coinStats }) => coinStats.get(stale.id))).toEqual(before);
  });

  test('are the same after an interruption, a reorg while the node was off, and a build of all blocks at once', async () => {
    await using node = new TestNode({ indexes: ON });
    await node.take(blocksOf(chain));
    // An unfinished job leaves nothing.
    await runCoinStatsJob(node.chain.coinStats.nextJob(50)!.job, threads);
    await node.restart({ indexes: DEFAULT_INDEXES });
    await node.take(blocksOf(branch).slice(0, -2));
    await node.restart({ indexes: ON });
    await build(node.chain, 7);
    await node.restart({ indexes: DEFAULT_INDEXES });
    await node.take(blocksOf(branch));
    expect(node.chain.coinStats.progress()).toEqual([]);
    await node.restart({ indexes: ON });
    expect(node.chain.coinStats.height).toBe(branch.height - 2);
    await build(node.chain, 1000);
    await using other = new TestNode({ indexes: ON });
    await other.take(blocksOf(branch));
    await build(other.chain, 1000);
    expect(allStats(node)).toEqual(allStats(other));
    expect(statsOfTip(node)).toEqual(statsOfCoins(node));
  });

  test('count what a coinbase does not claim and what no script can spend', async () => {
    const own = new RegtestChain({ to: 'anyone' });
    own.mine(101);
    const burn = spend(own.coin(1), [
      { to: 'anyone', value: 30_0000_0000n },
      { to: Uint8Array.of(0x6a, 1, 7), value: 5_0000_0000n },
    ]);
    own.mine(1, { txs: [burn], coinbaseValue: 50_0000_0000n });
    await using node = new TestNode({ indexes: ON });
    await node.take(blocksOf(own));
    await build(node.chain, 1000);
    const stats = allStats(node);
    expect(stats[0]).toMatchObject({ genesis: 50_0000_0000n, totalUnspendable: 50_0000_0000n, totalAmount: 0n });
    expect(stats[102]).toMatchObject({
      prevoutSpent: 50_0000_0000n,
      coinbase: 50_0000_0000n,
      newOutputs: 30_0000_0000n,
      genesis: 0n,
      bip30: 0n,
      scripts: 5_0000_0000n,
      unclaimed: 15_0000_0000n,
      totalUnspendable: 70_0000_0000n,
      totalAmount: 102n * 50_0000_0000n - 20_0000_0000n,
    });
  });

  test('are removed with index.removeDisabled, and damage of them is found in a reorg', async () => {
    await using node = new TestNode({ indexes: ON });
    await node.take(blocksOf(chain));
    await build(node.chain, 1000);
    await node.take(blocksOf(branch));
    const planned = node.chain.coinStats.nextJob()!;
    const result = await runCoinStatsJob(planned.job, threads);
    expect(() => node.chain.coinStats.finishJob(planned, { ...result, digest: new Uint8Array(32) })).toThrow(
      /^the statistics of the UTXO set at block [0-9a-f]{64} are damaged$/,
    );
    await node.restart({ indexes: DEFAULT_INDEXES, removeDisabledIndexes: true });
    expect(allStats(node).every((row) => row === null)).toBe(true);
    await node.restart({ indexes: ON });
    expect(node.chain.coinStats.height).toBe(-1);
  });
});

test('obverse verify finds altered and missing statistics', async () => {
  await using node = new TestNode({ indexes: ON });
  await node.take(blocksOf(chain));
  await build(node.chain, 1000);
  await node.close();
  expect(findingsOf(node)).toEqual([]);
  const db = new Database(join(node.dir, 'chain.db'));
  db.run('UPDATE coin_stats SET stats = zeroblob(length(stats)) WHERE header_id = 40');
  db.run('DELETE FROM coin_stats WHERE header_id = 50');
  db.run('UPDATE coin_stats_value SET muhash = zeroblob(384)');
  db.close();
  // The ids of headers begin at 1, with the genesis block.
  expect(findingsOf(node)).toEqual([
    ['table coin_stats', 39],
    ['table coin_stats', 49],
    ['table coin_stats_value', chain.height],
  ]);
  // The build does not go on from a wrong value.
  await node.restart();
  await node.take(branch.blocks.slice(1));
  expect(() => node.chain.coinStats.nextJob()).toThrow(/^the statistics of the UTXO set at block .* are damaged$/);
});

test('the background build follows the chain, and a caller waits for the tip', async () => {
  await using node = new TestNode({ indexes: ON });
  const ended = new AbortController();
  const problems: (IndexProblem | null)[] = [];
  let failures = 1;
  const following = followCoinStats(node.chain, {
    clock: systemClock,
    log: silentLog,
    dir: node.dir,
    signal: ended.signal,
    retryMs: 1,
    onProblem: (problem) => void problems.push(problem),
    async runJob(job) {
      if (failures-- > 0) throw new Error('ENOSPC: no space left on device, write');
      return runCoinStatsJob(job, threads);
    },
  });
  for (const block of blocksOf(chain).slice(0, 20)) {
    await node.take([block]);
    await node.chain.coinStats.caughtUp(ended.signal);
  }
  await node.chain.coinStats.caughtUp(ended.signal);
  await build(node.chain, 1000);
  expect(problems.map((problem) => problem?.indexes ?? null)).toEqual([['coinStats'], null]);
  expect(statsOfTip(node)).toEqual(statsOfCoins(node));
  await node.take(blocksOf(chain).slice(20));
  await node.take(blocksOf(branch));
  // Without the build, a caller does not wait for an index that is far behind or that has ended.
  ended.abort();
  await node.chain.coinStats.caughtUp(ended.signal);
  await node.take([branch.mine(1)]);
  await following;
});

test('a kill during the build leaves statistics that the next start continues', async () => {
  await using node = new TestNode({ indexes: DEFAULT_INDEXES });
  await node.take(blocksOf(chain));
  await node.close();
  const builder = Bun.spawn([process.execPath, join(import.meta.dir, 'coin-stats-builder.ts'), node.dir], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  let lines = '';
  for await (const chunk of builder.stdout) {
    lines += new TextDecoder().decode(chunk);
    if (lines.split('\n').length > 30) break;
  }
  builder.kill('SIGKILL');
  await builder.exited;
  await node.restart({ indexes: ON });
  expect(node.chain.coinStats.height).toBeGreaterThanOrEqual(29);
  expect(node.chain.coinStats.height).toBeLessThan(chain.height);
  await build(node.chain, 9);
  expect(statsOfTip(node)).toEqual(statsOfCoins(node));
});
