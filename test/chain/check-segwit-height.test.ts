import { expect, test } from 'bun:test';
import { regtestWith } from '../../src/params/regtest.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';

const segwitAt = (height: number) => regtestWith([`segwit@${height}`]);

/** Blocks up to height 8 that were stored where segwit is active from height 10 on. */
async function storedBeforeSegwit(): Promise<TestNode> {
  const chain = new RegtestChain({ params: segwitAt(10) });
  chain.mine(8, { commitment: 'none' });
  const node = new TestNode({ params: segwitAt(10) });
  await node.take(chain.blocks.slice(1));
  await node.close();
  return node;
}

const startAt = (node: TestNode, height: number) => new TestNode({ from: node.dir, params: segwitAt(height) });

test('a start is refused where blocks were stored before segwit was active at their height', async () => {
  await using node = await storedBeforeSegwit();
  for (const height of [5, 8])
    expect(() => startAt(node, height)).toThrow(
      `consensus.testActivationHeight: witness data of the blocks from height ${height} on requires validation, since segwit was active from height 10 on when they were stored. Set segwit@10 again, or run obverse reindex, or remove`,
    );
});

test('a height of segwit above the tip may change, and its last value counts', async () => {
  await using node = await storedBeforeSegwit();
  await using lower = startAt(node, 9);
  expect(lower.chain.tip.height).toBe(8);
  await lower.close();
  await using higher = startAt(lower, 100);
  expect(higher.chain.tip.height).toBe(8);
  await higher.close();
  expect(() => startAt(higher, 8)).toThrow('since segwit was active from height 100 on');
});
