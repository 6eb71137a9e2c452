import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { RegtestChain, TestBlock } from '../lib/chain-builder.ts';
import { inlineVerifier, lateVerifier, TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { branchOf, diceOf, ForkTree, trunkWithCoins } from '../lib/fork-tree.ts';

const SEEDS = Number(process.env.OBVERSE_FORK_SEEDS ?? 6);
const FIRST_SEED = Number(process.env.OBVERSE_FORK_FIRST_SEED ?? 1);
const BLOCKS = 40;

/** Random trees of blocks with spends; a node fed with them must be as one that saw the best branch alone. */
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

  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    for (const poison of [false, true])
      test(`seed ${seed}${poison ? ', with invalid scripts' : ''}`, async () => {
        const dice = diceOf(seed * 2 + (poison ? 1 : 0));
        const verifier = lateVerifier(() => dice(4), inlineVerifier);
        await using node = new TestNode({
          from: base.dir,
          verifier,
          coinsCacheBytes: dice(2) === 0 ? 1 : 1 << 28,
          // Half of them out of initial sync, where each block is committed when it comes.
          nowMs: dice(2) === 0 ? (trunk.tip.time + 8 * 3600) * 1000 : 1_800_000_000_000,
        });
        const tree = new ForkTree(trunk, dice, { poison });
        const waiting: TestBlock[] = [];
        const arrived: TestBlock[] = [];
        const best = () => tree.best(arrived) ?? trunk.tip;
        const check = () => expect(differences(node.state(), new ModelChain(branchOf(best())).state())).toEqual([]);
        for (let i = 0; i < BLOCKS; i++) {
          waiting.push(tree.grow());
          // Now and then a branch is held back, so that it comes all at once.
          while (waiting.length > (i === BLOCKS - 1 ? 0 : dice(9))) {
            const ready = waiting.filter(({ parent }) => parent!.height <= trunk.height || arrived.includes(parent!));
            const block = ready[dice(ready.length)]!;
            waiting.splice(waiting.indexOf(block), 1);
            arrived.push(block);
            const outcome = await node.chain.accept(block.raw);
            if (outcome.status !== 'accepted') expect([outcome, tree.isInvalid(block)]).toEqual([outcome, true]);
            // Time makes a commit due while more blocks are connected.
            if (dice(3) === 0) node.clock.advance(6000);
          }
          const next = dice(8);
          if (next === 0) await node.restart();
          if (next > 4) continue;
          await node.chain.settle();
          expect(node.tip).toBe(hashToHex(best().hash));
          if (next === 1) check();
        }
        await node.chain.settle();
        expect(node.tip).toBe(hashToHex(best().hash));
        check();
        // It must also be what a start finds, and what the chain goes on from.
        await node.restart();
        arrived.push(tree.grow());
        await node.chain.submit(arrived.at(-1)!.raw);
        check();
      });
  }
});
