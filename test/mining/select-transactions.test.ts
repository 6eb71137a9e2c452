import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Miner } from '../../src/mining/miner.ts';
import { DEFAULT_MINING_OPTIONS, type MiningOptions } from '../../src/mining/mining-options.ts';
import { selectTransactions } from '../../src/mining/select-transactions.ts';
import { TemplateMaker } from '../../src/mining/template-maker.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { txidOf } from '../../src/primitives/transaction.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { TestMempool } from '../lib/mempool-fixture.ts';
import { sweep } from '../lib/tx-builder.ts';

// As many spends of one coin each, with different fees.
const FEES = [200n, 1000n, 3000n, 9000n, 27_000n];

async function filledPool() {
  const chain = chainWithCoins(FEES.length, 'p2wpkh');
  const pool = await TestMempool.on(chain);
  const txs = FEES.map((fee, i) => sweep(chain.coin(i + 1), 'p2wpkh', fee));
  for (const tx of txs) expect((await pool.accept(tx)).status).toBe('accepted');
  return { pool, txids: txs.map((tx) => hashToHex(txidOf(tx))), script: chain.coin(1).output.scriptPubKey };
}

test('the options of Bitcoin Core are the default', () => {
  expect(DEFAULT_MINING_OPTIONS).toEqual({ minFeerate: 1n, maxWeight: 4_000_000, reservedWeight: 8000 });
});

test('a block has the best transactions of at least the minimum feerate that its weight limit admits', async () => {
  const { pool, txids } = await filledPool();
  await using _ = pool;
  const { mempool, node } = pool;
  const slots = txids.map((txid) => mempool.entries.find(Uint8Array.fromHex(txid).reverse() as never));
  const weights = slots.map((slot) => mempool.entries.weight(slot));
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 300_000 }),
      fc.integer({ min: 2000, max: 6000 }),
      fc.integer({ min: 0, max: 3000 }),
      (minFeerate, reservedWeight, room) => {
        const limits: MiningOptions = {
          minFeerate: BigInt(minFeerate),
          reservedWeight,
          maxWeight: reservedWeight + room,
        };
        const selection = selectTransactions(mempool, node.chain, { limits });
        const expected: string[] = [];
        let weight = reservedWeight;
        for (let i = FEES.length - 1; i >= 0; i--) {
          if (Number(FEES[i]) * 1000 < minFeerate * Math.ceil(weights[i]! / 4)) break;
          if (weight + weights[i]! >= limits.maxWeight) continue;
          weight += weights[i]!;
          expected.push(txids[i]!);
        }
        expect(selection.txs.map(({ tx }) => hashToHex(txidOf(tx)))).toEqual(expected);
        expect(selection.weight).toBe(weight);
      },
    ),
  );
});

test('templates and mined blocks follow the same limits', async () => {
  const { pool, script } = await filledPool();
  await using _ = pool;
  const { chain, clock } = pool.node;
  const limits = { minFeerate: 20_000n, maxWeight: 4_000_000, reservedWeight: 2500 };
  const deps = { chain, mempool: pool.mempool, clock, limits };
  const { selection } = new TemplateMaker(deps).current();
  const miner = new Miner(deps);
  const mined = await miner.mine(script, 1_000_000);
  expect(mined).not.toBeNull();
  expect(miner.last).toEqual({ weight: selection.weight, txs: selection.slots.length });
  expect(selection.slots.length).toBeGreaterThan(0);
  expect(selection.slots.length).toBeLessThan(FEES.length);
  await miner.assembleThese(script, []);
  expect(miner.last).toEqual({ weight: 2500, txs: 0 });
});
