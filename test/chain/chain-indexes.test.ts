import { describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Chain } from '../../src/chain/chain.ts';
import { runIndexJob } from '../../src/indexes/index-job.ts';
import { buildIndexes, type IndexProblem } from '../../src/node/index-build.ts';
import type { IndexName, IndexSwitches } from '../../src/storage/index-store.ts';
import { systemClock } from '../../src/util/clock.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import {
  ALL_INDEXES,
  type BlockBytes,
  mixedBlocks,
  NO_INDEXES,
  silentLog,
  TestNode,
  trustingVerifier,
} from '../lib/chain-fixture.ts';
import { differences, dumpSpenders, expectedSpenders, ModelChain } from '../lib/chain-state.ts';
import { coinOf, spend, sweep } from '../lib/tx-builder.ts';
import { hasVectors } from '../lib/vectors.ts';

/** A chain whose later blocks spend coins of earlier blocks and of their own, several of one script. */
const chain = new RegtestChain({ to: 'anyone' });
chain.mine(101);
for (let i = 1; i <= 20; i++) {
  const first = spend(chain.coin(i), [
    { to: 'anyone', value: 10_0000_0000n },
    { to: 'p2wpkh', value: 10_0000_0000n },
    { to: 'anyone', value: 9_0000_0000n },
  ]);
  chain.mine(1, { txs: [first, sweep(coinOf(first, 0), 'p2pkh'), sweep(coinOf(first, 2), 'anyone')] });
}
const branch = chain.fork(chain.height - 9);
for (let i = 21; i <= 35; i++) branch.mine(1, { txs: [sweep(branch.coin(i - 9), 'p2tr')] });

const blocksOf = ({ blocks }: RegtestChain) => blocks.slice(1);

const deps = ({ dir }: TestNode) => ({ clock: systemClock, log: silentLog, dir, onProblem: () => {} });

/** Runs jobs of a few blocks each until all indexes are live. Returns their number. */
function build({ indexes }: Chain, limit: number): number {
  for (let jobs = 0; ; jobs++) {
    const planned = indexes.nextJob(limit);
    if (planned === null) {
      expect(indexes.progress().every(({ live }) => live)).toBe(true);
      return jobs;
    }
    indexes.finishJob(planned, runIndexJob(planned.job));
  }
}

const covered = (node: TestNode, name: IndexName) => node.read(({ indexes }) => indexes.covered(name)?.height ?? -1);

/** Checks that the rows of all indexes are those of a chain of these blocks. */
function expectRows(node: TestNode, blocks: Iterable<BlockBytes>): void {
  const list = [...blocks];
  expect(differences(node.state(), new ModelChain(list).state())).toEqual([]);
  expect(dumpSpenders(node.dir)).toEqual(expectedSpenders(list));
}

const SWITCHES: readonly [string, IndexSwitches][] = [
  ['all', NO_INDEXES],
  ['index.tx', { ...ALL_INDEXES, tx: false }],
  ['index.address', { ...ALL_INDEXES, address: false }],
  ['index.spender', { ...ALL_INDEXES, spender: false }],
  ['index.tx and index.spender', { ...NO_INDEXES, address: true }],
];

describe('an index that was off while the chain was connected', () => {
  test.each(SWITCHES)('has the rows of an index that was on after its build: %s', async (_, indexes) => {
    await using node = new TestNode({ indexes });
    await node.take(blocksOf(chain));
    expect(covered(node, 'tx')).toBe(indexes.tx ? chain.height : -1);
    expect(covered(node, 'address')).toBe(indexes.address ? chain.height : -1);
    expect(covered(node, 'spender')).toBe(indexes.spender ? chain.height : -1);
    expect(covered(node, 'positions')).toBe(indexes === NO_INDEXES ? -1 : chain.height);
    const state = node.state();
    expect(state.txs.length > 0).toBe(indexes !== NO_INDEXES);
    expect(state.txIndex.length > 0).toBe(indexes.tx);
    expect(state.history.length + state.scriptCoins.length > 0).toBe(indexes.address);
    expect(dumpSpenders(node.dir).length > 0).toBe(indexes.spender);
    await node.restart({ indexes: ALL_INDEXES });
    expect(build(node.chain, 7)).toBe(Math.ceil((chain.height + 1) / 7));
    expectRows(node, blocksOf(chain));
    // From now on the rows of a block are part of its commit.
    await node.take(blocksOf(branch).slice(-15));
    expectRows(node, blocksOf(branch));
  });

  test.skipIf(!hasVectors)('has the rows of every standard kind of input after its build', async () => {
    await using node = new TestNode({ indexes: NO_INDEXES, verifier: trustingVerifier });
    await node.take(mixedBlocks());
    await node.restart({ indexes: ALL_INDEXES });
    build(node.chain, 50);
    expectRows(node, mixedBlocks());
  });

  test('is built in the background until it is live, and follows the chain then', async () => {
    await using node = new TestNode({ indexes: NO_INDEXES });
    await node.take(blocksOf(chain).slice(0, 110));
    await node.restart({ indexes: ALL_INDEXES });
    const ended = new AbortController();
    // Jobs and results are copies, as those that a thread receives.
    const runJob = async (...[job]: Parameters<typeof runIndexJob>) =>
      structuredClone(runIndexJob(structuredClone(job)));
    const built = buildIndexes(node.chain, { ...deps(node), runJob, signal: ended.signal });
    await node.take(blocksOf(chain).slice(110));
    await built;
    expect(node.chain.indexes.progress()).toEqual(
      (['positions', 'tx', 'address', 'spender'] as const).map((name) => ({ name, height: chain.height, live: true })),
    );
    expectRows(node, blocksOf(chain));
    ended.abort();
  });
});

describe('a build that fails', () => {
  test('is tried again if the disk was full, and names the indexes and the remedy meanwhile', async () => {
    await using node = new TestNode({ indexes: NO_INDEXES });
    await node.take(blocksOf(chain));
    await node.restart({ indexes: ALL_INDEXES });
    const problems: (IndexProblem | null)[] = [];
    let failures = 2;
    await buildIndexes(node.chain, {
      ...deps(node),
      signal: new AbortController().signal,
      retryMs: 1,
      onProblem: (problem) => void problems.push(problem),
      async runJob(job) {
        // Only the message of an error comes from another thread.
        if (failures-- > 0) throw new Error('ENOSPC: no space left on device, write');
        return runIndexJob(job);
      },
    });
    const problem = {
      indexes: ['positions', 'tx', 'address', 'spender'],
      problem: `cannot use ${node.dir}: no space left on the device: free some space; committed data is safe; the build is tried again every minute`,
    };
    expect(problems).toEqual([problem, null, problem, null]);
    expectRows(node, blocksOf(chain));
  });

  test('stops at damage, and names the indexes and the remedy', async () => {
    await using node = new TestNode({ indexes: NO_INDEXES });
    await node.take(blocksOf(chain));
    await node.restart({ indexes: { ...NO_INDEXES, tx: true } });
    const problems: (IndexProblem | null)[] = [];
    await buildIndexes(node.chain, {
      ...deps(node),
      signal: new AbortController().signal,
      onProblem: (problem) => void problems.push(problem),
      runJob: async () => Promise.reject(new Error('block 12 is damaged in blk file 0')),
    });
    expect(problems).toEqual([
      {
        indexes: ['positions', 'tx'],
        problem:
          'block 12 is damaged in blk file 0; stop the node and run obverse verify, which names the damage; obverse reindex --indexes builds the indexes again, obverse reindex everything',
      },
    ]);
    expect(node.chain.stopped).toBeNull();
  });
});

describe('an index that is switched off', () => {
  test('keeps its rows, and continues behind them when it is on again', async () => {
    await using node = new TestNode({ indexes: ALL_INDEXES });
    await node.take(blocksOf(chain).slice(0, 60));
    await node.restart({ indexes: { ...ALL_INDEXES, address: false } });
    await node.take(blocksOf(chain).slice(60, 110));
    expect(covered(node, 'address')).toBe(60);
    expect(covered(node, 'tx')).toBe(110);
    await node.restart({ indexes: NO_INDEXES });
    await node.take(blocksOf(chain).slice(110));
    await node.restart({ indexes: ALL_INDEXES });
    expect(node.chain.indexes.neededFrom).toBe(61);
    // The address index comes to the others first, and they go on together.
    expect(build(node.chain, 1000)).toBe(2);
    expect(node.chain.indexes.neededFrom).toBeNull();
    expectRows(node, blocksOf(chain));
  });

  test('and removed has no rows, and is built from the first block when it is on again', async () => {
    await using node = new TestNode({ indexes: ALL_INDEXES });
    await node.take(blocksOf(chain));
    await node.restart({ indexes: { ...ALL_INDEXES, address: false }, removeDisabledIndexes: true });
    const state = node.state();
    expect([state.history, state.scriptCoins]).toEqual([[], []]);
    expect(state.txIndex.length).toBeGreaterThan(0);
    expect(covered(node, 'address')).toBe(-1);
    expect(covered(node, 'tx')).toBe(chain.height);
    await node.restart({ indexes: NO_INDEXES, removeDisabledIndexes: true });
    const { txs, txIndex } = node.state();
    expect([txs, txIndex, dumpSpenders(node.dir)]).toEqual([[], [], []]);
    await node.take(blocksOf(branch).slice(-15));
    await node.restart({ indexes: ALL_INDEXES });
    expect(node.chain.indexes.neededFrom).toBe(0);
    build(node.chain, 1000);
    expectRows(node, blocksOf(branch));
  });

  test('removes the rows of blocks that left the chain meanwhile', async () => {
    await using node = new TestNode({ indexes: ALL_INDEXES });
    await node.take(blocksOf(chain));
    await node.restart({ indexes: { ...NO_INDEXES, tx: true } });
    await node.take(blocksOf(branch).slice(-15));
    await node.restart({ indexes: ALL_INDEXES });
    expect(node.chain.indexes.neededFrom).toBe(chain.height - 8);
    // Nine blocks are removed and fifteen added.
    expect(build(node.chain, 4)).toBe(3 + 4);
    expectRows(node, blocksOf(branch));
  });

  test('and covers a block that became the tip again is live at once', async () => {
    await using node = new TestNode({ indexes: ALL_INDEXES });
    await node.take(blocksOf(chain).slice(0, 110));
    const at = node.chain.tip;
    await node.restart({ indexes: NO_INDEXES });
    await node.take(blocksOf(chain).slice(110));
    await node.restart({ indexes: ALL_INDEXES });
    const planned = node.chain.indexes.nextJob()!;
    await node.chain.invalidateBlock(node.chain.tip.ancestor(111)!);
    expect(node.chain.tip.hash).toEqual(at.hash);
    expect(node.chain.indexes.progress().every(({ live }) => live)).toBe(true);
    // A job that was planned before must not add its rows.
    node.chain.indexes.finishJob(planned, runIndexJob(planned.job));
    expectRows(node, blocksOf(chain).slice(0, 110));
    await node.chain.reconsiderBlock(node.chain.findEntry(chain.at(111)!.hash)!);
    expectRows(node, blocksOf(chain));
  });
});

describe('a build', () => {
  test('continues from its last commit after a process that ended at any point', async () => {
    await using node = new TestNode({ indexes: NO_INDEXES });
    await node.take(blocksOf(chain));
    await node.restart({ indexes: ALL_INDEXES });
    const { indexes } = node.chain;
    const copies: string[] = [];
    const copy = () => {
      const dir = mkdtempSync(join(tmpdir(), 'obverse-index-'));
      cpSync(node.dir, dir, { recursive: true });
      copies.push(dir);
    };
    try {
      for (let planned = indexes.nextJob(30); planned !== null; planned = indexes.nextJob(30)) {
        const result = runIndexJob(planned.job);
        copy();
        indexes.finishJob(planned, result);
        copy();
      }
      expect(copies.length).toBe(10);
      for (const from of copies) {
        await using next = new TestNode({ from, indexes: ALL_INDEXES });
        build(next.chain, 50);
        expectRows(next, blocksOf(chain));
      }
    } finally {
      for (const dir of copies) rmSync(dir, { recursive: true });
    }
  });

  test('that is killed at any moment is completed by the next start', async () => {
    await using node = new TestNode({ indexes: NO_INDEXES });
    await node.take(blocksOf(chain));
    await node.close();
    const script = join(import.meta.dir, 'index-builder.ts');
    let height = -1;
    for (let jobs = 1; jobs < 8; jobs += 3) {
      const builder = Bun.spawn([process.execPath, script, node.dir], { stdout: 'pipe', stderr: 'inherit' });
      let lines = 0;
      for await (const bytes of builder.stdout) {
        lines += bytes.filter((byte) => byte === 10).length;
        if (lines >= jobs) builder.kill('SIGKILL');
      }
      expect(await builder.exited).toBe(137);
      const reached = covered(node, 'spender');
      expect(reached).toBeGreaterThan(height);
      height = reached;
    }
    await node.restart({ indexes: ALL_INDEXES });
    build(node.chain, 1000);
    expectRows(node, blocksOf(chain));
  });
});
