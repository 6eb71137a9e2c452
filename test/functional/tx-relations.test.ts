import { beforeAll, describe, expect, test } from 'bun:test';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { broadcast, idOf, mine, nodeWith } from '../lib/mempool-node.ts';
import type { ApiClient, ErrorBody, Tip, TxStatus } from '../lib/node-client.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { coinOf, spend, sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

interface Relative {
  readonly txid: string;
  readonly fee: number;
  readonly vsize: number;
  readonly feeRate: number;
}

interface Cpfp extends Relative {
  readonly status: TxStatus;
  readonly effectiveFeeRate: number;
  readonly ancestors: readonly Relative[];
  readonly descendants: readonly Relative[];
  readonly chunk: { readonly fee: number; readonly vsize: number; readonly txids: readonly string[] } | null;
  readonly cluster: { readonly count: number; readonly vsize: number } | null;
  readonly tip: Tip;
}

interface Replacements {
  readonly replacedBy: string | null;
  readonly replaces: readonly string[];
  readonly newest: string;
  readonly truncated: boolean;
  readonly items: readonly (Relative & { replacedBy: string; firstSeen: number; replacedAt: number })[];
}

interface ProjectedBlocks {
  readonly blocks: readonly { txCount: number; totalFee: number; weight: number; vsize: number }[];
  readonly tip: Tip;
}

describe('the relations of an unconfirmed transaction', () => {
  const chain: RegtestChain = recentChain(115);
  let api: ApiClient;
  beforeAll(async () => {
    api = (await nodeWith(chain)).api;
  });
  const cpfp = (txid: string) => api.json<Cpfp>(`/api/tx/${txid}/cpfp`);

  test('a child that pays more raises the feerate of its parent', async () => {
    const parent = spend(chain.coin(1), [
      { to: 'p2wpkh', value: 20_0000_0000n },
      { to: 'p2tr', value: 29_9999_9800n },
    ]);
    await broadcast(api, parent);
    const alone = await cpfp(idOf(parent));
    expect(alone).toMatchObject({ fee: 200, ancestors: [], descendants: [], cluster: { count: 1 } });
    expect(alone.effectiveFeeRate).toBe(alone.feeRate);
    const child = sweep(coinOf(parent, 0), 'p2wpkh', 20_000n);
    const other = sweep(coinOf(parent, 1), 'p2wpkh', 150n);
    for (const tx of [child, other]) await broadcast(api, tx);
    const [p, c, o] = [await cpfp(idOf(parent)), await cpfp(idOf(child)), await cpfp(idOf(other))];
    const short = ({ txid, fee, vsize, feeRate }: Relative) => ({ txid, fee, vsize, feeRate });
    expect(p.descendants.map(({ txid }) => txid).sort()).toEqual([idOf(child), idOf(other)].sort());
    expect([c.ancestors, o.ancestors]).toEqual([[short(p)], [short(p)]]);
    expect(p.descendants).toContainEqual(short(c));
    const vsize = p.vsize + c.vsize;
    expect(p.chunk).toEqual({ fee: 20_200, vsize, txids: [idOf(parent), idOf(child)] });
    expect([p.effectiveFeeRate, c.chunk]).toEqual([Math.round((20_200 * 1000) / vsize) / 1000, p.chunk]);
    expect(c.effectiveFeeRate).toBe(p.effectiveFeeRate);
    // The other child pays less, and so is mined after them.
    expect([o.effectiveFeeRate, o.chunk!.txids]).toEqual([o.feeRate, [idOf(other)]]);
    for (const { cluster } of [p, c, o]) expect(cluster).toEqual({ count: 3, vsize: vsize + o.vsize });
    await mine(api, chain, [parent, child]);
    expect(await cpfp(idOf(parent))).toMatchObject({
      fee: 200,
      feeRate: alone.feeRate,
      effectiveFeeRate: alone.feeRate,
      status: { confirmed: true, confirmations: 1 },
      ...{ ancestors: [], descendants: [], chunk: null, cluster: null },
    });
    expect((await cpfp(idOf(other))).ancestors).toEqual([]);
    const coinbase = idOf(chain.at(1).txs[0]!);
    expect(await api.json<object>(`/api/tx/${coinbase}/cpfp`)).toMatchObject({ fee: null, effectiveFeeRate: null });
  });

  test('replacements are listed from any of them, until one is confirmed and beyond', async () => {
    const versions = [1000n, 3000n, 9000n].map((fee) => sweep(chain.coin(2), 'p2wpkh', fee));
    const other = sweep(chain.coin(3), 'p2wpkh', 1500n);
    const last = spend([chain.coin(2), chain.coin(3)], [{ to: 'p2wpkh', value: 99_9990_0000n }]);
    for (const tx of [...versions, other, last]) await broadcast(api, tx);
    const ids = versions.map(idOf);
    const of = (txid: string) => api.json<Replacements>(`/api/tx/${txid}/replacements`);
    const check = async () => {
      const all = await Promise.all([...ids, idOf(other), idOf(last)].map(of));
      for (const { newest, items, truncated } of all) {
        expect(newest).toBe(idOf(last));
        expect(truncated).toBe(false);
        expect(items).toEqual(all[0]!.items);
      }
      expect(all.map(({ replacedBy }) => replacedBy)).toEqual([ids[1]!, ids[2]!, idOf(last), idOf(last), null]);
      expect(all.map(({ replaces }) => replaces.toSorted())).toEqual([
        [],
        [ids[0]!],
        [ids[1]!],
        [],
        [ids[2]!, idOf(other)].sort(),
      ]);
      const { items } = all[0]!;
      const fees = new Map(items.map(({ txid, fee }) => [txid, fee]));
      expect([...ids, idOf(other)].map((txid) => fees.get(txid))).toEqual([1000, 3000, 9000, 1500]);
      for (const { feeRate, fee, vsize, firstSeen, replacedAt } of items) {
        expect(feeRate).toBe(Math.round((fee * 1000) / vsize) / 1000);
        expect(replacedAt).toBeGreaterThanOrEqual(firstSeen);
      }
    };
    await check();
    await mine(api, chain, [last]);
    await check();
    const { items, newest } = await of(idOf(chain.at(1).txs[0]!));
    expect([items, newest]).toEqual([[], idOf(chain.at(1).txs[0]!)]);
    for (const path of ['cpfp', 'replacements']) {
      const { status, body } = await api.request<ErrorBody>(`/api/tx/${'ab'.repeat(32)}/${path}`);
      expect([status, body.error.code]).toEqual([404, 'tx_not_found']);
    }
  });

  test('the next blocks follow the mempool within a second, and are streamed', async () => {
    const socket = await api.socket();
    socket.send({ type: 'subscribe', id: 1, data: { events: ['mempoolBlocks'], replace: true } });
    const before = await api.json<ProjectedBlocks['blocks']>('/api/mempool/blocks');
    const had = before[0]?.txCount ?? 0;
    const { fee } = await broadcast(api, sweep(chain.coin(4), 'p2wpkh', 7000n));
    const sent = await socket.until('the new block', ({ type, data }) => {
      return type === 'mempoolBlocks' && (data as unknown as ProjectedBlocks).blocks[0]?.txCount === had + 1;
    });
    const { blocks, tip } = sent.data as unknown as ProjectedBlocks;
    expect(tip.height).toBe(chain.height);
    expect(blocks[0]!.totalFee).toBe((before[0]?.totalFee ?? 0) + fee);
    expect(blocks[0]!.vsize).toBe(Math.ceil(blocks[0]!.weight / 4));
    expect(await api.json<ProjectedBlocks['blocks']>('/api/mempool/blocks')).toEqual(blocks as never);
    socket.close();
  });

  test('the limits of the caller are shown with their use', async () => {
    interface Limits {
      readonly key: { scopes: string[] };
      readonly use: { sockets: number; storedWatches: number };
      readonly limits: { sockets: number };
      readonly pages: { utxos: { default: number; max: number } };
    }
    const limits = () => api.json<Limits>('/api/config/limits');
    const before = await limits();
    expect(before.key.scopes).toContain('read');
    expect(before).toMatchObject({
      use: { storedWatches: 0 },
      rate: null,
      pages: { utxos: { default: 1000, max: 5000 } },
      unitsPerCall: { xpubKeys: 100, chartPoints: 100, fullTxs: 100, txDetails: 100, addresses: 100, watches: 100 },
    });
    const socket = await api.socket();
    expect((await limits()).use.sockets).toBe(before.use.sockets + 1);
    socket.close();
    const { status } = await api.request('/api/config/limits', { headers: { authorization: '' } });
    expect(status).toBe(401);
  });
});
