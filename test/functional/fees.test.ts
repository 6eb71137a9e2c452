import { beforeAll, describe, expect, test } from 'bun:test';
import { broadcast, mempoolLoaded, mine, nodeWith } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { coinOf, spend, sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

interface Fees {
  readonly fastest: number;
  readonly halfHour: number;
  readonly hour: number;
  readonly economy: number;
  readonly minimum: number;
  readonly estimator: string;
  readonly targets: Record<string, number>;
}

describe('fees', () => {
  const chain = recentChain(140);
  let node: NodeProcess;
  beforeAll(async () => {
    node = await nodeWith(chain);
  });

  test('are the least rate where nothing is known, except for a strict estimate', async () => {
    const { api } = node;
    expect(await api.rpc<object>('estimatesmartfee', [6])).toEqual({
      feerate: 0.000001,
      estimator: 'floor',
      blocks: 6,
      warnings: ['insufficient data, minimum relay rate returned'],
    });
    expect(await api.rpc<number>('estimatefee', [6])).toBe(0.000001);
    const failure = { errors: ['Insufficient data or no feerate found'], blocks: 0 };
    expect(await api.rpc<object>('estimatesmartfee', [6, 'economical', { strict: true }])).toEqual(failure);
    expect(await api.rpc<object>('estimatesmartfee', { conf_target: 6, fee_rate_estimator: 'block_policy' })).toEqual(
      failure,
    );
    // Whether it has seen six blocks depends on how those of the import were committed.
    expect(
      await api.rpc<object>('estimatesmartfee', { conf_target: 6, fee_rate_estimator: 'mempool_policy' }),
    ).toMatchObject({ blocks: 2 });
    const fees = await api.json<Fees>('/api/fees');
    expect(fees).toMatchObject({ fastest: 0.1, economy: 0.1, minimum: 0.1, estimator: 'floor' });
    for (const [method, params, message] of [
      ['estimatesmartfee', [0], 'Invalid conf_target, must be between 1 and 1008'],
      ['estimatefee', [1009], 'Invalid conf_target, must be between 1 and 1008'],
      [
        'estimatesmartfee',
        [6, 'soon'],
        'Invalid estimate_mode parameter, must be one of: "unset", "economical", "conservative"',
      ],
      ['estimaterawfee', [6, 2], 'Invalid threshold'],
    ] as const)
      expect((await api.rpcBody({ jsonrpc: '2.0', id: 1, method, params })).body).toMatchObject({
        error: { code: -8, message },
      });
  });

  test('are estimated from mined transactions, and remembered', async () => {
    const { api } = node;
    const socket = await api.socket();
    socket.send({ type: 'subscribe', id: 1, data: { events: ['feeUpdate'], replace: true } });
    // Coins of one block are spent in the next: none of them needs another that waits.
    const from = chain.coin(1);
    const share = (from.output.value - 100_000n) / 40n;
    const fan = spend(
      from,
      Array.from({ length: 40 }, () => ({ to: 'p2wpkh', value: share }) as const),
    );
    await mine(api, chain, [fan]);
    let coins = Array.from({ length: 40 }, (_, vout) => coinOf(fan, vout));
    for (let i = 0; i < 14; i++) {
      const txs = coins.map((coin) => sweep(coin, 'p2wpkh', 110n * 7n));
      for (const tx of txs) await broadcast(api, tx);
      await mine(api, chain, txs);
      coins = txs.map((tx) => coinOf(tx, 0));
    }
    const learnt = await api.rpc<Record<string, unknown>>('estimatesmartfee', {
      conf_target: 6,
      fee_rate_estimator: 'block_policy',
    });
    expect(learnt).toEqual({ feerate: 0.00007, blocks: 6 });
    // Blocks are nearly empty, so the lower of the two is the least rate.
    expect(await api.rpc<object>('estimatesmartfee', [6])).toEqual({
      feerate: 0.000001,
      estimator: 'mempool_policy',
      blocks: 2,
    });
    const raw = await api.rpc<Record<string, { feerate: number; pass: { withintarget: number } }>>(
      'estimaterawfee',
      [6],
    );
    expect(Object.keys(raw)).toEqual(['short', 'medium', 'long']);
    expect(raw.short).toMatchObject({ feerate: 0.00007, scale: 1, decay: 0.962 });
    expect(raw.short!.pass.withintarget).toBeGreaterThan(300);
    const { mempool_health_statistics: health } = await api.rpc<{ mempool_health_statistics: object[] }>(
      'estimatesmartfee',
      { conf_target: 2, verbosity: 2 },
    );
    expect(health).toHaveLength(6);
    const [newest] = health as { block_height: number; block_weight: number; mempool_txs_weight: number }[];
    expect(newest!.block_height).toBe(chain.height);
    expect(newest!.block_weight).toBeGreaterThan(40 * 430);
    // All of it came through the mempool.
    expect(newest!.mempool_txs_weight).toBe(newest!.block_weight);
    const fees = await api.json<Fees>('/api/fees');
    const rates = [fees.fastest, fees.halfHour, fees.hour, fees.economy];
    expect(rates).toEqual(rates.toSorted((a, b) => b - a));
    expect(Object.keys(fees.targets)).toEqual(expect.arrayContaining(['1', '2', '6', '12', '144', '1008']));
    const update = await socket.until('fees', ({ type }) => type === 'feeUpdate');
    expect(Object.keys(update.data)).toEqual(expect.arrayContaining(Object.keys(fees)));
    socket.close();

    const { datadir } = node;
    await node.stop();
    node = await startNode({ datadir });
    await mempoolLoaded(node);
    const again = { conf_target: 6, fee_rate_estimator: 'block_policy' };
    expect(await node.api.rpc<object>('estimatesmartfee', again)).toEqual(learnt);
    // The blocks that the mempool knew are stored as well.
    const verbose = { conf_target: 6, verbosity: 2 };
    expect(await node.api.rpc<object>('estimatesmartfee', verbose)).toEqual({
      feerate: 0.000001,
      estimator: 'mempool_policy',
      blocks: 2,
      mempool_health_statistics: health,
    });
  });

  test('are shown for the projected blocks', async () => {
    const { api } = node;
    for (const height of [10, 11, 12]) await broadcast(api, sweep(chain.coin(height), 'p2wpkh', 110n * BigInt(height)));
    await mine(api, chain);
    const blocks =
      await api.json<{ txCount: number; vsize: number; totalFee: number; medianFeeRate: number }[]>(
        '/api/mempool/blocks',
      );
    expect(blocks).toEqual([expect.objectContaining({ txCount: 3, totalFee: 3630 })]);
    expect(blocks[0]!.vsize).toBe(Math.ceil((blocks[0] as unknown as { weight: number }).weight / 4));
    // A signature may be a byte shorter.
    expect(Math.abs(blocks[0]!.medianFeeRate - 11)).toBeLessThan(0.2);
    expect(Math.abs(blocks[0]!.vsize - 330)).toBeLessThan(3);
  });
});
