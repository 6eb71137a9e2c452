import { hashToHex } from '../../src/primitives/hash.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { feedRandomTree, trunkWithCoins } from '../lib/fork-tree.ts';
import type { Proof } from './proof.ts';

const BLOCKS = 80;

/** A trunk that spends coins, and the directory of a node that has connected it. */
export interface ForkBase {
  readonly trunk: RegtestChain;
  readonly node: TestNode;
}

/** Returns a base that random trees start from; its directory is removed when the node is disposed. */
export async function forkBase(): Promise<ForkBase> {
  const trunk = trunkWithCoins();
  const node = new TestNode();
  await node.take(trunk.blocks.slice(1));
  await node.close();
  return { trunk, node };
}

/** Feeds one tree of 80 blocks to a node. Throws when its state is not that of the heaviest valid branch. */
export function feedTree({ trunk, node }: ForkBase, seed: number): Promise<void> {
  return feedRandomTree({ seed, trunk, from: node.dir, blocks: BLOCKS, poison: seed % 2 === 0 });
}

/**
 * Feeds random trees of blocks to nodes that stop, commit and prune at random moments. Chain, coins and indexes must be
 * those of the heaviest valid branch.
 */
export const forks: Proof = {
  help: 'random trees of blocks leave the state of their heaviest valid branch; counts trees',
  count: 1000,
  async run(count, seed, signal, progress) {
    const base = await forkBase();
    const violations: string[] = [];
    let trees = 0;
    try {
      for (; trees < count; trees++) {
        signal.throwIfAborted();
        await feedTree(base, seed + trees).catch((error) => violations.push(String(error)));
        if ((trees + 1) % 100 === 0) progress?.(`${trees + 1} trees`);
      }
    } finally {
      await base.node[Symbol.asyncDispose]();
    }
    const figures = [
      ['trees', trees],
      ['blocks of each', BLOCKS],
      ['seeds', `${seed} to ${seed + count - 1}`],
      ['tip of the trunk', hashToHex(base.trunk.tip.hash)],
    ] as const;
    return { figures, violations };
  },
};
