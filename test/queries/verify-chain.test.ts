import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withSnapshot } from '../../src/queries/read-env.ts';
import { verifyChain } from '../../src/queries/verify-chain.ts';
import { batchCoin, batchRemovedCoin, coinKey } from '../../src/storage/coin-store.ts';
import { RunBatch } from '../../src/storage/runs/run-batch.ts';
import { COINS } from '../../src/storage/runs/run-family.ts';
import { RunStore } from '../../src/storage/runs/run-store.ts';
import { chainWithCoins, type RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { defaultReadSources } from '../lib/default-options.ts';
import { coinOf, sweep } from '../lib/tx-builder.ts';

/** A chain whose last three blocks spend something, one of them what it made itself. */
function spendingChain(): RegtestChain {
  const chain = chainWithCoins(3);
  const first = sweep(chain.coin(1), 'p2pkh');
  chain.mine(1, { txs: [first, sweep(coinOf(first, 0), 'p2tr')] });
  for (const height of [2, 3]) chain.mine(1, { txs: [sweep(chain.coin(height), 'p2wsh-anyone')] });
  return chain;
}

/** Returns the result of each level for the last `count` blocks. */
function verdicts(node: TestNode, count = 3): boolean[] {
  return [0, 1, 2, 3, 4].map((level) =>
    node.read((reads) =>
      withSnapshot(
        { ...defaultReadSources(node.params), reads, mirror: null },
        () => {},
        (env) => verifyChain(env, level, count),
      ),
    ),
  );
}

function flipBit(node: TestNode, file: string, at: number): void {
  const path = join(node.dir, 'blocks', file);
  const bytes = readFileSync(path);
  bytes[at]! ^= 1;
  writeFileSync(path, bytes);
}

async function stoppedNode(): Promise<TestNode> {
  const node = new TestNode();
  await node.take(spendingChain().blocks.slice(1));
  return node;
}

test('a whole chain is whole at every level, to its beginning', async () => {
  await using node = await stoppedNode();
  expect(verdicts(node)).toEqual([true, true, true, true, true]);
  expect(verdicts(node, node.chain.height)).toEqual([true, true, true, true, true]);
});

test('a damaged header is found by reading, a damaged transaction by checking', async () => {
  await using node = await stoppedNode();
  const { offset } = node.chain.tip.body;
  // Behind header and count, the version of the coinbase.
  flipBit(node, 'blk00000.dat', offset + 70);
  expect(verdicts(node)).toEqual([false, false, false, false, false]);
  flipBit(node, 'blk00000.dat', offset + 70);
  flipBit(node, 'blk00000.dat', offset + 81);
  expect(verdicts(node)).toEqual([true, false, false, false, false]);
  // Bytes behind it are not checked.
  expect(verdicts(node, 0)).toEqual([true, true, true, true, true]);
});

test('damaged undo data is found where it is read', async () => {
  await using node = await stoppedNode();
  flipBit(node, 'rev00000.dat', node.chain.tip.undo.offset + 13);
  expect(verdicts(node)).toEqual([true, true, false, false, false]);
});

/** Commits a change of all coins to the database of a closed node: their value by `more` satoshis; null removes them. */
function changeCoins(node: TestNode, more: number | null): void {
  const batch = new RunBatch(COINS);
  for (const { outpoint, position, output } of node.read(({ coins }) => [...coins.all()])) {
    const key = coinKey(outpoint);
    const { value, scriptPubKey } = output;
    batchRemovedCoin(batch, key);
    if (more !== null) batchCoin(batch, key, position, Number(value) + more, scriptPubKey, 0, scriptPubKey.length);
  }
  const db = new Database(join(node.dir, 'chain.db'));
  const runs = new RunStore(db, node.dir, node.clock);
  runs.stageBatches([batch]);
  db.transaction(() => runs.insertStaged()).immediate();
  runs.onCommitted();
  runs.close();
  db.close();
}

test('a coin that is missing, or of another value, is found where coins are compared', async () => {
  for (const more of [null, 1, 0]) {
    const node = await stoppedNode();
    await node.close();
    changeCoins(node, more);
    expect(verdicts(node)).toEqual([true, true, true, more === 0, more === 0]);
    await node[Symbol.asyncDispose]();
  }
});
