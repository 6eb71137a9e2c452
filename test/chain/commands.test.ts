import { expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { RegtestChain, type TestBlock } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { branchOf, openScript, POISON, trunkWithCoins } from '../lib/fork-tree.ts';
import { spend } from '../lib/tx-builder.ts';

const entryOf = (node: TestNode, block: TestBlock) => node.chain.findEntry(block.hash)!;
const tipsOf = (node: TestNode) =>
  node.chain.chainTips().map(({ entry, branchLength, status }) => `${entry.height} ${branchLength} ${status}`);

function expectState(node: TestNode, tip: TestBlock): void {
  expect(node.tip).toBe(hashToHex(tip.hash));
  expect(differences(node.state(), new ModelChain(branchOf(tip)).state())).toEqual([]);
}

async function nodeOn(chain: RegtestChain): Promise<TestNode> {
  const node = new TestNode();
  await node.take(chain.blocks.slice(1));
  return node;
}

/** A chain with spends in its last five blocks. */
function busyChain(): RegtestChain {
  const chain = trunkWithCoins();
  for (let i = 0; i < 5; i++) {
    const [coin] = chain.coinsOf(openScript(1));
    chain.mine(1, { txs: [spend(coin!, [{ to: openScript(500 + i), value: coin!.output.value }], { sign: false })] });
  }
  return chain;
}

test('an invalidated block and its descendants leave the chain, and return when it is reconsidered', async () => {
  const chain = busyChain();
  await using node = await nodeOn(chain);
  const third = chain.at(chain.height - 2);
  await node.chain.invalidateBlock(entryOf(node, third));
  expectState(node, third.parent!);
  expect(tipsOf(node)).toEqual([`${chain.height} 3 invalid`, `${chain.height - 3} 0 active`]);
  expect(node.chain.bestHeader.height).toBe(chain.height - 3);

  const child = chain.mine(1);
  expect(await node.submit(child)).toBe('bad-prevblk');
  expect(await node.submit(third)).toBe('duplicate-invalid');

  // The mark of invalidateblock persists over a restart.
  await node.restart();
  expectState(node, third.parent!);

  await node.chain.reconsiderBlock(entryOf(node, third));
  expectState(node, child.parent!);
  expect(await node.submit(child)).toBe('accepted');
  expectState(node, child);
});

test('the best remaining branch becomes active when a block is invalidated', async () => {
  const chain = busyChain();
  const rival = chain.fork(chain.height - 3);
  rival.mine(2);
  await using node = await nodeOn(chain);
  await node.take(rival.blocks.slice(-2));
  expectState(node, chain.tip);
  expect(tipsOf(node)).toEqual([`${chain.height} 0 active`, `${rival.height} 2 valid-headers`]);

  await node.chain.invalidateBlock(entryOf(node, chain.at(chain.height - 1)));
  expectState(node, rival.tip);
  expect(tipsOf(node)).toEqual([`${chain.height} 3 invalid`, `${rival.height} 0 active`]);

  await node.chain.reconsiderBlock(entryOf(node, chain.tip));
  expectState(node, chain.tip);
  expect(tipsOf(node)).toEqual([`${chain.height} 0 active`, `${rival.height} 2 valid-fork`]);
});

test('reconsidering a descendant clears its invalid ancestors', async () => {
  const chain = busyChain();
  await using node = await nodeOn(chain);
  await node.chain.invalidateBlock(entryOf(node, chain.at(chain.height - 3)));
  await node.chain.reconsiderBlock(entryOf(node, chain.tip));
  expectState(node, chain.tip);
});

test('a reconsidered block that breaks a rule is rejected again', async () => {
  const chain = trunkWithCoins();
  const good = chain.fork();
  const [poisoned] = chain.coinsOf(POISON);
  chain.mine(1, { txs: [spend(poisoned!, [{ to: openScript(1), value: poisoned!.output.value }], { sign: false })] });
  await using node = await nodeOn(good);
  expect(await node.submit(chain.tip)).toStartWith('block-script-verify-flag-failed');
  await node.chain.reconsiderBlock(entryOf(node, chain.tip));
  expectState(node, good.tip);
  expect(entryOf(node, chain.tip).failed).toBe(true);
});

test('of two tips with equal work the preferred one becomes active', async () => {
  const chain = busyChain();
  const rival = chain.fork(chain.height - 2);
  rival.mine(2);
  await using node = await nodeOn(chain);
  await node.take(rival.blocks.slice(-2));
  expectState(node, chain.tip);
  await node.chain.preferBlock(entryOf(node, rival.tip));
  expectState(node, rival.tip);
  await node.chain.preferBlock(entryOf(node, chain.tip));
  expectState(node, chain.tip);
  // A preferred branch with less work does not become active.
  await node.chain.preferBlock(entryOf(node, rival.tip.parent!));
  expectState(node, chain.tip);
});

test('headers are accepted before their bodies, and bodies in any order', async () => {
  const chain = busyChain();
  await using node = await nodeOn(chain.fork(chain.height - 5));
  const coming = chain.blocks.slice(-5);
  for (const block of coming)
    expect((await node.chain.acceptHeader(block.raw.subarray(0, 80))).status).toBe('accepted');
  expect((await node.chain.acceptHeader(coming[0]!.raw.subarray(0, 80))).status).toBe('known');
  expect(node.chain.bestHeader.height).toBe(chain.height);
  expect(tipsOf(node)).toEqual([`${chain.height} 5 headers-only`, `${chain.height - 5} 0 active`]);
  for (const block of [coming[4]!, coming[2]!, coming[3]!, coming[1]!]) await node.take([block]);
  expect(node.chain.tip.height).toBe(chain.height - 5);
  await node.restart();
  expect(node.chain.bestHeader.height).toBe(chain.height);
  await node.take([coming[0]!]);
  expectState(node, chain.tip);
});

test('an invalid header is rejected with its reason', async () => {
  const chain = new RegtestChain();
  chain.mine(3);
  await using node = await nodeOn(chain);
  const orphan = chain.fork();
  orphan.mine(2);
  const outcome = await node.chain.acceptHeader(orphan.tip.raw.subarray(0, 80));
  expect(outcome.status === 'rejected' && outcome.rejection.reason).toBe('prev-blk-not-found');
});
