import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildJob, buildRuns, type RunsBuilder } from '../../src/storage/runs/build-runs.ts';
import { buildThread } from '../../src/storage/runs/build-thread.ts';
import { ALL_INDEXES, lateVerifier, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { oldChain } from '../lib/sample-chains.ts';
import { coinOf, lockOf, spend, withBadSignature } from '../lib/tx-builder.ts';

const COMMIT_INTERVAL_MS = 5000;

// Block 106 creates so many coins that its rows exceed what the commit itself builds; later blocks spend some of them.
const chain = oldChain(105);
const payee = { to: lockOf('p2wpkh'), value: 1000n };
const fan = spend(chain.coin(1), new Array(30_000).fill(payee));
chain.mine(1, { txs: [fan] });
for (let n = 0; n < 4; n++) chain.mine(1, { txs: [spend(coinOf(fan, n), [{ to: lockOf('p2tr'), value: 500n }])] });
const blocks = chain.blocks.slice(1);
const before = blocks.slice(0, 105);
const big = blocks[105]!;
const after = blocks.slice(106);

const expected = await (async () => {
  await using node = new TestNode({ verifier: trustingVerifier, indexes: ALL_INDEXES });
  await node.take(blocks);
  return node.state();
})();

/** A builder that waits for `release` before each job. */
function heldBuilder(build: RunsBuilder = async (job) => buildRuns(job)) {
  const jobs: BuildJob[] = [];
  const gate = Promise.withResolvers<void>();
  const held: RunsBuilder = async (job) => {
    jobs.push(job);
    await gate.promise;
    return build(job);
  };
  return { jobs, held, release: gate.resolve };
}

/** Submits the blocks up to the large one, whose commit is due. */
async function acceptDue(node: TestNode): Promise<void> {
  await node.take(before);
  node.clock.advance(COMMIT_INTERVAL_MS);
  await node.accept([big]);
}

const runFiles = (node: TestNode) => readdirSync(join(node.dir, 'runs'));

describe('the runs of a large commit are built while blocks are connected', () => {
  test('and the commit waits for them', async () => {
    const { jobs, held, release } = heldBuilder();
    await using node = new TestNode({ verifier: trustingVerifier, indexes: ALL_INDEXES, buildRuns: held });
    await acceptDue(node);
    expect(jobs.flatMap(({ batches }) => batches.map(({ batch }) => batch.family.name))).toContain('coins');
    await node.accept(after.slice(0, 2));
    expect(node.chain.height).toBe(108);
    expect(node.chain.tip.height).toBe(105);
    release();
    await node.take(after.slice(2));
    expect(node.state()).toEqual(expected);
  });

  test('by a thread of their own', async () => {
    const thread = buildThread();
    const { held, release } = heldBuilder((job) => thread.runJob(job));
    release();
    try {
      await using node = new TestNode({ verifier: trustingVerifier, indexes: ALL_INDEXES, buildRuns: held });
      await acceptDue(node);
      await node.take(after);
      expect(node.state()).toEqual(expected);
    } finally {
      thread.close();
    }
  });

  test('and by the commit itself if the thread fails', async () => {
    const { held, release } = heldBuilder(() => Promise.reject(new Error('the build thread failed')));
    release();
    await using node = new TestNode({ verifier: trustingVerifier, indexes: ALL_INDEXES, buildRuns: held });
    await acceptDue(node);
    await node.take(after);
    expect(node.chain.stopped).toBeNull();
    expect(node.state()).toEqual(expected);
  });

  test('and removed if a script of the sealed blocks fails', async () => {
    const { jobs, held, release } = heldBuilder();
    const verifier = lateVerifier(() => 20);
    await using node = new TestNode({ verifier, indexes: ALL_INDEXES, buildRuns: held });
    await node.take(before);
    const bad = oldChain(105);
    bad.mine(1, { txs: [withBadSignature(fan)] });
    node.clock.advance(COMMIT_INTERVAL_MS);
    await node.accept([bad.blocks[106]!]);
    expect(jobs.length).toBe(1);
    const committed = runFiles(node);
    release();
    await node.chain.settle();
    expect(node.chain.tip.height).toBe(105);
    expect(runFiles(node)).toEqual(committed);
    await node.take([big, ...after]);
    expect(node.state()).toEqual(expected);
  });

  test('and a stop waits for them', async () => {
    const { held, release } = heldBuilder();
    await using node = new TestNode({ verifier: trustingVerifier, indexes: ALL_INDEXES, buildRuns: held });
    await acceptDue(node);
    const closed = node.close();
    release();
    await closed;
    await node.restart();
    expect(node.chain.tip.height).toBeGreaterThanOrEqual(105);
    await node.take([big, ...after]);
    expect(node.state()).toEqual(expected);
  });
});
