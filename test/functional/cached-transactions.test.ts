import { beforeAll, expect, test } from 'bun:test';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';

cleanUpAfterTests();

interface Tx {
  readonly vout: readonly { readonly spent: boolean | null; readonly value: number }[];
  readonly status: { readonly confirmed: boolean; readonly confirmations: number; readonly blockHash: string | null };
  readonly mempool: object | null;
  readonly tip: { readonly height: number; readonly hash: string };
}

let node: NodeProcess;
let api: ApiClient;

beforeAll(async () => {
  node = await startNode({ network: 'regtest' });
  api = node.api;
});

test('a cached transaction shows new blocks, spends in the mempool and in the chain, and reorgs', async () => {
  await api.rpc('createwallet', ['cached']);
  const address = await api.rpc<string>('getnewaddress');
  await api.rpc('generatetoaddress', [101, address]);
  const txid = await api.rpc<string>('sendtoaddress', [address, '7.0']);
  const [block] = await api.rpc<string[]>('generatetoaddress', [1, address]);
  const read = async () => {
    const tx = await api.json<Tx>(`/api/tx/${txid}`);
    const { confirmations = 0, ...raw } = await api.rpc<{ confirmations?: number }>('getrawtransaction', [txid, 2]);
    const hex = (await api.request(`/api/tx/${txid}/hex`)).text;
    expect(hex).toBe(await api.rpc('getrawtransaction', [txid]));
    const headers = { authorization: `Bearer ${api.key}` };
    const bytes = await (await fetch(`${api.url}/api/tx/${txid}/raw`, { headers })).bytes();
    expect(bytes.toHex()).toBe(hex);
    return { tx, confirmations, raw, hex };
  };
  const first = await read();
  expect(first.tx.status).toMatchObject({ confirmed: true, confirmations: 1, blockHash: block });
  expect(first.tx.vout.map(({ spent }) => spent)).toEqual([false, false]);
  expect(await read()).toEqual(first);

  await api.rpc('generatetoaddress', [2, address]);
  const later = await read();
  expect(later.confirmations).toBe(3);
  expect(later.raw).toEqual(first.raw);
  const height = first.tx.tip.height + 2;
  const hash = await api.rpc<string>('getbestblockhash');
  const status = { ...first.tx.status, confirmations: 3 };
  expect(later.tx).toEqual({ ...first.tx, status, tip: { height, hash } });

  const vout = first.tx.vout.findIndex(({ value }) => value === 7_0000_0000);
  const unsigned = await api.rpc<string>('createrawtransaction', [[{ txid, vout }], [{ [address]: '6.9999' }]]);
  const { hex } = await api.rpc<{ hex: string }>('signrawtransactionwithwallet', [unsigned]);
  await api.rpc('sendrawtransaction', [hex]);
  const spends = first.tx.vout.map((_, n) => n === vout);
  const spentFlags = async () => (await read()).tx.vout.map(({ spent }) => spent);
  expect(await spentFlags()).toEqual(spends);
  await api.rpc('generatetoaddress', [1, address]);
  expect(await spentFlags()).toEqual(spends);
  const tip = await api.rpc<string>('getbestblockhash');
  await api.rpc('invalidateblock', [tip]);
  expect(await spentFlags()).toEqual(spends);

  await api.rpc('invalidateblock', [block]);
  const waiting = await read();
  expect(waiting.tx.status).toMatchObject({ confirmed: false, confirmations: 0, blockHash: null });
  expect(waiting.tx.mempool).not.toBeNull();
  expect(waiting.confirmations).toBe(0);
  await api.rpc('reconsiderblock', [block]);
  expect((await read()).tx.status).toMatchObject({ confirmed: true, confirmations: 4, blockHash: block });

  const { text: metrics } = await api.request('/metrics');
  expect(Number(/obverse_tx_cache_lookups_total\{result="hit"\} (\d+)/.exec(metrics)?.[1])).toBeGreaterThanOrEqual(20);
});

test('a cached block shows its confirmations, its next block, and reorgs', async () => {
  const address = await api.rpc<string>('getnewaddress');
  const [hash, next] = (await api.rpc<string[]>('generatetoaddress', [3, address])) as [string, string];
  interface Block {
    readonly height: number;
    readonly confirmations: number;
    readonly inActiveChain: boolean;
    readonly nextHash: string | null;
    readonly txids?: readonly string[];
  }
  const read = async (of = hash): Promise<Block> => {
    const block = await api.json<Block>(`/api/block/${of}`);
    const { txids, ...summary } = block;
    expect(await api.json<Block>(`/api/block/${of.toUpperCase()}?fields=summary`)).toEqual(summary as Block);
    if (block.inActiveChain) expect(await api.json<Block>(`/api/block-by-height/${block.height}`)).toEqual(block);
    const {
      confirmations,
      nextblockhash = null,
      tx,
    } = await api.rpc<{
      confirmations: number;
      nextblockhash?: string;
      tx: string[];
    }>('getblock', [of]);
    expect([block.confirmations, block.nextHash, txids]).toEqual([confirmations, nextblockhash, tx]);
    return block;
  };
  const first = await read();
  expect(first).toMatchObject({ confirmations: 3, inActiveChain: true, nextHash: next });
  expect(await read()).toEqual(first);
  const tip = await api.rpc<string>('getbestblockhash');
  expect((await read(tip)).nextHash).toBeNull();
  const [after] = await api.rpc<string[]>('generatetoaddress', [1, address]);
  expect(await read()).toEqual({ ...first, confirmations: 4 });
  expect(await read(tip)).toMatchObject({ confirmations: 2, nextHash: after! });

  await api.rpc('invalidateblock', [next]);
  expect(await read()).toEqual({ ...first, confirmations: 1, nextHash: null });
  expect(await read(tip)).toMatchObject({ confirmations: -1, inActiveChain: false, nextHash: null });
  await api.rpc('generatetoaddress', [2, await api.rpc<string>('getnewaddress')]);
  expect((await read()).nextHash).not.toBe(next);
  expect(await read()).toMatchObject({ confirmations: 3, inActiveChain: true });
});
