import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { Op } from '../../src/script/opcodes.ts';
import { scriptOf } from '../../src/script/script-builder.ts';
import { chainWithCoins, type RegtestChain, type TestBlock } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences } from '../lib/chain-state.ts';
import { coinOf, type Destination, LOCK_KINDS, type Payee, spend, type TestCoin } from '../lib/tx-builder.ts';

const MATURE = 12;
const DATA = scriptOf(Op.OP_RETURN, Uint8Array.of(1, 2, 3));

/** A transaction: the coins that it spends, by index, and where its outputs go. */
const payment = fc.record({
  spends: fc.array(fc.nat(200), { minLength: 1, maxLength: 3 }),
  to: fc.array(fc.constantFrom<Destination>(...LOCK_KINDS, DATA), { minLength: 1, maxLength: 4 }),
});
const blocks = fc.array(fc.array(payment, { maxLength: 5 }), { minLength: 1, maxLength: 5, size: 'max' });
type Blocks = typeof blocks extends fc.Arbitrary<infer B> ? B : never;

/** Mines them on a branch; coins created in a block may be spent in it. */
function mineAll(trunk: RegtestChain, plan: Blocks): TestBlock[] {
  const chain = trunk.fork();
  const first = chain.height + 1;
  let coins: TestCoin[] = Array.from({ length: MATURE }, (_, i) => trunk.coin(i + 1));
  for (const payments of plan) {
    const txs: Transaction[] = [];
    for (const { spends, to } of payments) {
      const chosen = [...new Set(spends.map((i) => i % Math.max(coins.length, 1)))].flatMap((i) => coins[i] ?? []);
      const value = chosen.reduce((sum, { output }) => sum + output.value, 0n);
      if (chosen.length === 0 || value < 10_000n) continue;
      const payees: Payee[] = to.map((one) => ({ to: one, value: one === DATA ? 0n : value / BigInt(to.length + 1) }));
      const tx = spend(chosen, payees);
      txs.push(tx);
      coins = coins.filter((coin) => !chosen.includes(coin));
      for (const [vout, one] of to.entries()) if (one !== DATA) coins.push(coinOf(tx, vout));
    }
    chain.mine(1, { txs });
  }
  return chain.blocks.slice(first);
}

describe('blocks that are connected and disconnected again', () => {
  let trunk: RegtestChain;
  let base: TestNode;

  beforeAll(async () => {
    trunk = chainWithCoins(MATURE, 'p2wpkh');
    base = new TestNode();
    await base.take(trunk.blocks.slice(1));
    await base.close();
  });
  afterAll(() => base?.[Symbol.asyncDispose]());

  test('restore coins, indexes, totals, supply and tip, and lead to the same state when they return', async () => {
    await fc.assert(
      fc.asyncProperty(blocks, async (plan) => {
        await using node = new TestNode({ from: base.dir });
        const before = node.state();
        const branch = mineAll(trunk, plan);
        await node.take(branch);
        const after = node.state();
        expect(node.chain.tip.height).toBe(trunk.height + branch.length);
        const first = node.chain.findEntry(branch[0]!.hash)!;
        await node.chain.invalidateBlock(first);
        expect(node.chain.tip.height).toBe(trunk.height);
        expect(differences(node.state(), before)).toEqual([]);
        await node.chain.reconsiderBlock(first);
        expect(differences(node.state(), after)).toEqual([]);
        await node.restart();
        expect(differences(node.state(), after)).toEqual([]);
      }),
      { numRuns: 24, endOnFailure: true },
    );
  }, 180_000);
});
