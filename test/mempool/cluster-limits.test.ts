import { expect, test } from 'bun:test';
import { fitsClusterLimits } from '../../src/mempool/cluster-limits.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { TestMempool } from '../lib/mempool-fixture.ts';
import { coinOf, sweep } from '../lib/tx-builder.ts';

test('fitsClusterLimits accepts a transaction whose whole cluster stays within the limits', async () => {
  const chain = chainWithCoins(3, 'p2wpkh');
  await using pool = await TestMempool.on(chain, { clusterCount: 3, clusterVsize: 1000 });
  const parent = sweep(chain.coin(1), 'p2wpkh');
  const child = sweep(coinOf(parent, 0), 'p2wpkh');
  const other = sweep(chain.coin(2), 'p2wpkh');
  for (const tx of [parent, child, other]) expect(await pool.reason(tx)).toBe('accepted');
  const outputs = [parent, child, other].map((tx) => coinOf(tx, 0).outpoint);
  const fits = (which: readonly number[], weight = 400) =>
    fitsClusterLimits(
      pool.mempool,
      which.map((i) => outputs[i]!),
      weight,
    );
  expect(fits([1])).toBe(true);
  expect(fits([1, 2])).toBe(false);
  // The transaction replaces the child.
  expect(fits([0])).toBe(true);
  expect(fits([0, 2])).toBe(true);
  // Each has 110 virtual bytes.
  expect(fits([2], 4 * 800)).toBe(true);
  expect(fits([2], 4 * 900)).toBe(false);
  expect(fitsClusterLimits(pool.mempool, [chain.coin(3).outpoint], 400)).toBe(true);
  // The graph is unchanged.
  expect(await pool.reason(sweep(coinOf(child, 0), 'p2wpkh'))).toBe('accepted');
  expect(await pool.reason(sweep(coinOf(other, 0), 'p2wpkh'))).toBe('accepted');
});
