import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import {
  type ApiFixture,
  describeWithVectors,
  expectedOfMixedChain,
  idleNode,
  mixedChainBlocks,
  mixedChainDir,
  startTestApi,
} from '../lib/chain-api.ts';
import { fillChain } from '../lib/chain-filler.ts';

interface Page<T> {
  items: T[];
  nextCursor: string | null;
  next: string | null;
}
interface Entry {
  txid: string;
  vout?: number;
  hash?: string;
  status?: { blockHeight: number; blockIndex: number };
}

describeWithVectors('lists in pages', () => {
  const expected = expectedOfMixedChain();
  const api: ApiFixture = startTestApi(mixedChainDir());
  afterAll(() => api.close());
  const { address } = expected.balances[0]!;

  const all = async (first: string, from = api): Promise<Entry[]> => {
    const items: Entry[] = [];
    for (let path: string | null = first; path; ) {
      const response = await from.get(path);
      const page = (await response.json()) as Page<Entry>;
      expect(response.headers.get('link')).toBe(page.next && `<${page.next}>; rel="next"`);
      items.push(...page.items);
      path = page.next;
    }
    return items;
  };
  const nameOf = ({ txid, vout, hash }: Entry) => hash ?? `${txid}:${vout ?? ''}`;

  test('small pages give the same as one large page, each entry once', async () => {
    for (const [path, limit, whole] of [
      [`/api/address/${address}/txs?order=asc`, 101, 500],
      [`/api/address/${address}/txs`, 333, 500],
      [`/api/address/${address}/utxos`, 97, 5000],
      [`/api/block/${expected.tip}/txs`, 90, 1000],
      ['/api/blocks', 7, 100],
    ] as const) {
      const join = path.includes('?') ? '&' : '?';
      const small = (await all(`${path}${join}limit=${limit}`)).map(nameOf);
      const large = (await all(`${path}${join}limit=${whole}`)).map(nameOf);
      expect(small).toEqual(large);
      expect(new Set(small).size).toBe(small.length);
    }
  });

  test('the order is the chain’s, and the reverse is its reverse', async () => {
    const ascending = await all(`/api/address/${address}/txs?order=asc&limit=500`);
    const descending = await all(`/api/address/${address}/txs?limit=500`);
    expect(ascending.map(nameOf)).toEqual(descending.map(nameOf).toReversed());
    const places = ascending.map(({ status }) => status!.blockHeight * 1e6 + status!.blockIndex);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test('heights and confirmations bound the list', async () => {
    const heights = async (query: string) => {
      const list = (await all(`/api/address/${address}/txs?limit=500&${query}`)).map(
        ({ status }) => status!.blockHeight,
      );
      return [Math.min(...list), Math.max(...list)];
    };
    expect(await heights('fromHeight=120&toHeight=130')).toEqual([120, 130]);
    expect(await heights('fromHeight=155&order=asc')).toEqual([155, 160]);
    expect((await heights('minConfirmations=11'))[1]).toBe(150);
    expect((await heights('minConfirmations=1'))[1]).toBe(160);
    const nothing = await api.json<Page<Entry>>(`/api/address/${address}/txs?fromHeight=130&toHeight=120`);
    expect(nothing).toMatchObject({ items: [], next: null });
    expect(await api.json(`/api/address/${address}/txs?minConfirmations=500`)).toMatchObject({ items: [] });
  });

  test('blocks go down to the first one', async () => {
    const blocks = await all('/api/blocks?before=103&limit=50');
    expect(blocks.length).toBe(103);
    expect(blocks.at(-1)).toMatchObject({ height: 0 });
    expect(blocks[0]).toMatchObject({ height: 102 });
    expect(blocks[0]).not.toHaveProperty('txids');
    expect(await api.json('/api/blocks?before=0')).toMatchObject({ items: [], next: null });
  });

  test('a cursor belongs to its path and filters', async () => {
    const { nextCursor } = await api.json<Page<Entry>>(`/api/address/${address}/txs?limit=5&order=asc`);
    expect(nextCursor!).toMatch(/^[A-Za-z0-9_-]{1,256}$/);
    const status = async (path: string) => {
      const response = await api.get(path);
      return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
    };
    const path = `/api/address/${address}/txs`;
    expect(await status(`${path}?limit=9&order=asc&cursor=${nextCursor}`)).toEqual([200, undefined]);
    const wrong = [400, 'invalid_cursor'];
    expect(await status(`${path}?cursor=${nextCursor}`)).toEqual(wrong);
    expect(await status(`${path}?order=asc&fromHeight=1&cursor=${nextCursor}`)).toEqual(wrong);
    expect(await status(`/api/address/${address}/utxos?cursor=${nextCursor}`)).toEqual(wrong);
    expect(await status(`/api/address/${expected.balances[1]!.address}/txs?order=asc&cursor=${nextCursor}`)).toEqual(
      wrong,
    );
    expect(await status(`${path}?order=asc&cursor=${nextCursor!.slice(0, -2)}`)).toEqual(wrong);
    expect(await status(`${path}?order=asc&cursor=${'A'.repeat(300)}`)).toEqual(wrong);
    expect(await status(`${path}?order=asc&cursor=%00`)).toEqual(wrong);
  });

  // The first 150 blocks, with the rest known but not connected: as after an operator marked block 151 invalid.
  const dir = mkdtempSync(join(tmpdir(), 'obverse-reorged-'));
  const blocks = mixedChainBlocks();
  const genesisLeads = blocks.length === 161 ? 1 : 0;
  fillChain(dir, regtest, blocks.slice(0, 150 + genesisLeads), blocks.slice(150 + genesisLeads));
  const shorter = startTestApi(dir, { node: idleNode({ headers: 150 }) });
  afterAll(async () => {
    await shorter.close();
    rmSync(dir, { recursive: true, force: true });
  });

  test('a cursor whose block has left the chain names the height to resume from', async () => {
    for (const path of [`/api/address/${address}/txs?limit=3`, '/api/blocks?limit=3']) {
      const { next } = await api.json<Page<Entry>>(path);
      const response = await shorter.get(next!);
      const body = (await response.json()) as object;
      expect([response.status, body]).toMatchObject([
        409,
        {
          error: {
            code: 'cursor_reorged',
            details: { forkHeight: 150, tip: { height: 150, hash: expected.blocks[150]!.hash } },
          },
        },
      ]);
    }
    const deep = await api.json<Page<Entry>>(`/api/address/${address}/txs?limit=3&toHeight=149`);
    expect((await shorter.get(deep.next!)).status).toBe(200);
  });

  test('a block outside of the active chain is still answered', async () => {
    const hash = expected.tip;
    expect(await shorter.json(`/api/block/${hash}`)).toMatchObject({
      height: 160,
      inActiveChain: false,
      confirmations: -1,
      nextHash: null,
      fees: null,
      medianTime: 1_600_093_000,
      txids: expected.blocks[160]!.tx,
    });
    expect(await shorter.json(`/api/block/${hash}/status`)).toEqual({
      inActiveChain: false,
      height: 160,
      confirmations: -1,
      nextHash: null,
    });
    expect(await shorter.json<string[]>(`/api/block/${hash}/txids`)).toEqual(expected.blocks[160]!.tx!);
    const txs = await shorter.json<Page<object>>(`/api/block/${hash}/txs?limit=3`);
    expect(txs.items[1]).toMatchObject({
      fee: null,
      vin: [{ prevout: null }],
      status: { confirmed: false, blockHash: null },
    });
    expect((await shorter.get('/api/block-by-height/160')).status).toBe(404);
    expect((await shorter.get(`/api/tx/${expected.blocks[160]!.tx![1]}`)).status).toBe(404);
    const core = await shorter.rpc<Record<string, unknown>>('getblock', hash, 1);
    expect([core.confirmations, core.nTx, 'nextblockhash' in core]).toEqual([-1, 295, false]);
    const tx = await shorter.rpc<object>('getrawtransaction', expected.blocks[160]!.tx![1], 2, hash);
    expect(tx).toMatchObject({ in_active_chain: false, confirmations: 0, blockhash: hash });
    const refusal = await shorter.post(
      '/',
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getblockstats', params: [hash] }),
    );
    expect(await refusal.json()).toMatchObject({ error: { code: -1, message: 'Undo data not available' } });
  });
});
