import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { watchHeight } from '../../src/node/watch-height.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { lateVerifier, silentLog, TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { branchOf, openScript, POISON, trunkWithCoins } from '../lib/fork-tree.ts';
import { spend } from '../lib/tx-builder.ts';

test('no block above the last height is connected, in whatever order blocks arrive, and a later run connects them', async () => {
  const chain = new RegtestChain();
  chain.mine(12);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }),
      fc.shuffledSubarray(chain.blocks.slice(1), { minLength: 12 }),
      async (lastHeight, blocks) => {
        await using node = new TestNode({ lastHeight });
        for (const block of chain.blocks.slice(1)) await node.chain.acceptHeader(block.raw.slice(0, 80));
        await node.take(blocks);
        expect(node.tip).toBe(hashToHex(chain.at(lastHeight).hash));
        expect(differences(node.state(), new ModelChain(branchOf(chain.at(lastHeight))).state())).toEqual([]);
        await node.restart({ lastHeight: undefined });
        await node.chain.settle();
        expect(node.tip).toBe(hashToHex(chain.at(12).hash));
      },
    ),
    { numRuns: 8 },
  );
});

test('a block at the last height whose scripts fail is left for another branch', async () => {
  const chain = trunkWithCoins();
  const rival = chain.fork(chain.height);
  const [poisoned] = chain.coinsOf(POISON);
  chain.mine(2, { txs: [spend(poisoned!, [{ to: openScript(1), value: poisoned!.output.value }], { sign: false })] });
  rival.mine(1);
  const lastHeight = rival.height;
  await using node = new TestNode({ lastHeight, verifier: lateVerifier(() => 5) });
  for (const block of [...chain.blocks.slice(1), ...rival.blocks.slice(lastHeight)])
    await node.chain.acceptBlock(block.raw);
  await node.chain.settle();
  expect(node.tip).toBe(hashToHex(rival.at(lastHeight).hash));
});

test('the watch of a height reports it once, at its commit or at once', async () => {
  const chain = new RegtestChain();
  chain.mine(3);
  await using node = new TestNode();
  let reached = 0;
  watchHeight(node.chain, 2, { log: silentLog, reached: () => reached++ });
  await node.take([chain.at(1)]);
  expect(reached).toBe(0);
  await node.take([chain.at(2)]);
  expect(reached).toBe(1);
  await node.take([chain.at(3)]);
  expect(reached).toBe(1);
  watchHeight(node.chain, 2, { log: silentLog, reached: () => reached++ });
  expect(reached).toBe(2);
});
