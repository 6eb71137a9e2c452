import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { type ApiFixture, idleNode, startTestApi } from '../lib/chain-api.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { ChainModel } from '../lib/chain-model.ts';
import { extend } from '../lib/sample-chains.ts';
import { lockOf, sweep } from '../lib/tx-builder.ts';

interface Chart {
  readonly interval: number | null;
  readonly unit: string;
  readonly fromHeight: number | null;
  readonly toHeight: number | null;
  readonly points: readonly [time: number, value: number][];
}

/** The figures of a block, from its bytes. */
interface Figures {
  readonly time: number;
  readonly size: number;
  readonly weight: number;
  readonly txs: number;
  readonly fees: number;
  readonly difficulty: number;
  readonly work: bigint;
}

const base = new RegtestChain({ startTime: 1_700_000_000, spacing: 3600, to: lockOf('p2wpkh') });
extend(base, 104, 5);
const stale = base.fork();
const winner = base.fork();
extend(stale, 3, 3);
winner.mine(1);
// A fee that no other block has.
winner.mine(1, { txs: [sweep(base.coin(5), 'p2tr', 123_456n)] });
extend(winner, 3, 7);

describe('charts agree with the blocks', () => {
  let node: TestNode;
  let api: ApiFixture;
  beforeAll(async () => {
    node = new TestNode({ params: base.params });
    await node.take(stale.blocks.slice(1));
    api = startTestApi(node.dir, { params: base.params });
  });
  afterAll(async () => {
    await api.close();
    await node[Symbol.asyncDispose]();
  });

  /** The figures of each block of a chain, by the methods that read its bytes and those that read its header. */
  const figuresOf = (chain: RegtestChain) =>
    Promise.all(
      chain.blocks.map(async ({ hash }): Promise<Figures> => {
        const hex = hashToHex(hash);
        type Body = { size: number; weight: number; nTx: number; time: number; difficulty: number; chainwork: string };
        const { size, weight, nTx, time, difficulty, chainwork } = await api.rpc<Body>('getblock', hex, 1);
        const { totalfee } = await api.rpc<{ totalfee: number }>('getblockstats', hex);
        return { size, weight, time, difficulty, txs: nTx, fees: totalfee, work: BigInt(`0x${chainwork}`) };
      }),
    );

  async function compare(chain: RegtestChain): Promise<void> {
    const blocks = await figuresOf(chain);
    const tip = blocks.length - 1;
    for (const points of [1, 7, 500])
      for (const series of Object.keys(EXPECTED)) {
        const chart = await api.json<Chart>(`/api/chart/${series}?points=${points}`);
        const count = Math.min(points, tip);
        expect([chart.fromHeight, chart.toHeight, chart.points.length]).toEqual([1, tip, count]);
        let before = 0;
        for (const [i, [time, value]] of chart.points.entries()) {
          const last = Math.round(((i + 1) * tip) / count);
          expect(time).toBe(blocks[last]!.time);
          expect(value).toBeCloseTo(EXPECTED[series]!(blocks.slice(before, last + 1)), 8);
          before = last;
        }
      }
    const { points } = await api.json<Chart>('/api/chart/supply?points=4');
    for (const [time, value] of points) {
      const height = blocks.findIndex((block) => block.time === time);
      const model = new ChainModel(chain.blocks.slice(0, height + 1).map(({ raw }) => raw));
      const coins = model.outputs.filter(({ spentBy, unspendable }) => !spentBy && !unspendable);
      expect(value).toBe(coins.reduce((sum, coin) => sum + coin.value, 0));
    }
  }

  test('of the active chain, before a reorg and after it', async () => {
    await compare(stale);
    const before = await api.get('/api/chart/fees?points=500');
    await node.take(winner.blocks.slice(base.height + 1));
    await compare(winner);
    const etag = { 'if-none-match': before.headers.get('etag')! };
    const after = await api.get('/api/chart/fees?points=500', etag);
    expect(after.status).toBe(200);
    expect(((await after.json()) as Chart).points.map(([, fees]) => fees)).toContain(123_456);
    const again = { 'if-none-match': after.headers.get('etag')! };
    expect((await api.get('/api/chart/fees?points=500', again)).status).toBe(304);
  });

  test('of the last blocks alone', async () => {
    // Blocks are an hour apart.
    const { fromHeight, toHeight } = await api.json<Chart>('/api/chart/txCount?range=24h');
    expect(toHeight).toBe(winner.height);
    expect(fromHeight).toBe(winner.height - 24);
  });

  test('of the state of the node, from its samples', async () => {
    const asked: object[] = [];
    const sampled = { interval: 600, points: [[1_700_000_400, 2.5]] as [number, number][] };
    const answers = {
      sampledSeries(request: object) {
        asked.push(request);
        return sampled;
      },
    };
    const other = startTestApi(node.dir, { params: base.params, node: idleNode({}, [], { answers }) });
    const chart = await other.json<Chart>('/api/chart/mempoolVsize?range=7d&points=20');
    expect(chart).toMatchObject({ series: 'mempoolVsize', unit: 'vB', fromHeight: null, toHeight: null, ...sampled });
    expect(chart as unknown as { tip: object }).toMatchObject({ tip: { height: winner.height } });
    await other.json('/api/chart/peers');
    expect(asked).toEqual([
      { series: 'mempoolVsize', length: 604_800, points: 20 },
      { series: 'peers', length: null, points: 100 },
    ]);
    expect((await other.json<Chart>('/api/chart/fees')).interval).toBeNull();
    await other.close();
  });

  test('and cost one call for a hundred points', async () => {
    const options = { rate: { perSecond: 0.001, burst: 100 } };
    const answers = { sampledSeries: () => ({ interval: 60, points: [] }) };
    const other = startTestApi(node.dir, { params: base.params, node: idleNode({}, [], { answers }) });
    const { key } = await other.rpc<{ key: string }>('createapikey', 'slow', ['read'], options);
    let left = 100;
    for (const series of ['fees', 'peers'])
      for (const [points, cost] of [
        [1, 1],
        [100, 1],
        [101, 2],
        [500, 5],
      ] as const) {
        const reply = await other.get(`/api/chart/${series}?points=${points}`, { authorization: `Bearer ${key}` });
        left -= cost;
        expect([series, points, reply.headers.get('ratelimit-remaining')]).toEqual([series, points, String(left)]);
      }
    await other.close();
  });

  test('and a series, range or number of points that does not exist is named with the allowed ones', async () => {
    const cases = [
      ['/api/chart/nothing', 'series must be one of difficulty, hashrate, blockInterval, blockSize, blockWeight'],
      ['/api/chart/fees?range=2d', 'all or 1y or 30d or 7d or 24h'],
      ['/api/chart/fees?points=501', 'points must be a number from 1 to 500'],
      ['/api/chart/fees?points=0', 'points must be a number from 1 to 500'],
      ['/api/chart/peers?points=501', 'points must be a number from 1 to 500'],
      ['/api/chart/peers?range=2d', 'all or 1y or 30d or 7d or 24h'],
    ] as const;
    for (const [path, message] of cases) {
      const reply = await api.get(path);
      const { error } = (await reply.json()) as { error: { code: string; message: string } };
      expect([path, reply.status, error.code]).toEqual([path, 400, 'invalid_parameter']);
      expect(error.message).toContain(message);
    }
  });
});

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const mean = (member: 'size' | 'weight' | 'txs' | 'fees') => (all: readonly Figures[]) =>
  sum(all.slice(1).map((block) => block[member])) / (all.length - 1);

/** The value of a point: `all` are the block before it and its blocks. */
const EXPECTED: Readonly<Record<string, (all: readonly Figures[]) => number>> = {
  difficulty: (all) => all.at(-1)!.difficulty,
  hashrate: (all) => Number(all.at(-1)!.work - all[0]!.work) / (all.at(-1)!.time - all[0]!.time),
  blockInterval: (all) => (all.at(-1)!.time - all[0]!.time) / (all.length - 1),
  blockSize: mean('size'),
  blockWeight: mean('weight'),
  txCount: mean('txs'),
  fees: mean('fees'),
  feeRate: (all) => mean('fees')(all) / (mean('weight')(all) / 4),
};
