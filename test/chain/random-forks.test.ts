import { afterAll, beforeAll, describe, test } from 'bun:test';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { feedRandomTree, trunkWithCoins } from '../lib/fork-tree.ts';

/** Random trees of blocks with spends: a node that receives all must equal one that received the best branch alone. */
describe('random forks', () => {
  let trunk: RegtestChain;
  let base: TestNode;

  beforeAll(async () => {
    trunk = trunkWithCoins();
    base = new TestNode();
    await base.take(trunk.blocks.slice(1));
    await base.close();
  });
  afterAll(() => base?.[Symbol.asyncDispose]());

  // The slow tests run a hundred more and longer ones.
  for (let seed = 1; seed <= 5; seed++)
    for (const poison of [false, true])
      test(
        `seed ${seed}${poison ? ', with invalid scripts' : ''}`,
        () => feedRandomTree({ seed, trunk, from: base.dir, blocks: 22, poison }),
        20_000,
      );
});
