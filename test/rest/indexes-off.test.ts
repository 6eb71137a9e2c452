import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { runIndexJob } from '../../src/indexes/index-job.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { addressOf } from '../../src/script/address.ts';
import type { IndexSwitches } from '../../src/storage/index-store.ts';
import { type ApiFixture, startTestApi } from '../lib/chain-api.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { ALL_INDEXES, NO_INDEXES, TestNode } from '../lib/chain-fixture.ts';
import { defaultReadSources } from '../lib/default-options.ts';
import { coinOf, lockOf, spend, sweep } from '../lib/tx-builder.ts';

const startTime = Math.floor(Date.now() / 1000) - 3600 - 130 * 60;
const chain = new RegtestChain({ startTime, spacing: 60, to: lockOf('p2wpkh') });
chain.mine(101);
const parent = spend(chain.coin(1), [
  { to: 'p2pkh', value: 20_0000_0000n },
  { to: 'p2tr', value: 29_0000_0000n },
]);
const child = sweep(coinOf(parent, 0), 'p2pkh', 1000n);
const last = sweep(coinOf(child, 0), 'p2tr', 1000n);
chain.mine(1, { txs: [parent, child, last] });
chain.mine(3);
const block = chain.at(102);
const blockHash = hashToHex(block.hash);
const txidAt = (n: number) => hashToHex(block.parsed().txs[n]!.txid);
/** All outputs of the child are spent, and some of the parent are not. */
const [PARENT, CHILD] = [txidAt(1), txidAt(2)];
const ADDRESS = addressOf(lockOf('p2tr').scriptPubKey, chain.params.address)!;

const BLOCK_PATHS = [
  `/api/block/${blockHash}`,
  `/api/block/${blockHash}?summary=true`,
  `/api/block/${blockHash}/txs`,
  `/api/block/${blockHash}/txs?limit=2`,
  `/api/block/${blockHash}/txids`,
  `/api/blocks`,
];
const TX_PATHS = [`/api/tx/${CHILD}`, `/api/tx/${CHILD}/status`, `/api/tx/${CHILD}/hex`, `/api/tx/${CHILD}/proof`];
const SPENDER_PATHS = [`/api/tx/${PARENT}/outspends`, `/api/tx/${PARENT}/outspend/0`];
const ADDRESS_PATHS = [
  `/api/balance/${ADDRESS}`,
  `/api/address/${ADDRESS}`,
  `/api/address/${ADDRESS}/txs`,
  `/api/address/${ADDRESS}/utxos`,
];

interface Shown {
  readonly status: number;
  readonly body: { error?: { code: string; message: string; details: unknown } };
}

async function get(api: ApiFixture, path: string): Promise<Shown> {
  const reply = await api.get(path);
  return { status: reply.status, body: (await reply.json()) as Shown['body'] };
}

async function rpcError(api: ApiFixture, method: string, ...params: unknown[]) {
  const reply = await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  const { error } = (await reply.json()) as { error: { code: number; message: string; data: { code: string } } };
  return [error.code, error.message, error.data.code];
}

const apiOf = (node: TestNode, indexes: IndexSwitches) =>
  startTestApi(node.dir, { params: chain.params, sources: defaultReadSources(chain.params, { indexes }) });

describe('without indexes', () => {
  let full: TestNode;
  let bare: TestNode;
  let on: ApiFixture;
  let off: ApiFixture;
  beforeAll(async () => {
    full = new TestNode({ params: chain.params, indexes: ALL_INDEXES });
    bare = new TestNode({ params: chain.params, indexes: NO_INDEXES });
    await full.take(chain.blocks.slice(1));
    await bare.take(chain.blocks.slice(1));
    on = apiOf(full, ALL_INDEXES);
    off = apiOf(bare, NO_INDEXES);
  });
  afterAll(async () => {
    await on.close();
    await off.close();
    await full[Symbol.asyncDispose]();
    await bare[Symbol.asyncDispose]();
  });

  test('blocks are the same', async () => {
    for (const path of BLOCK_PATHS) {
      const shown = await get(off, path);
      expect(shown.status).toBe(200);
      expect(shown.body).toEqual((await get(on, path)).body);
    }
  });

  test('confirmed transactions get 501', async () => {
    for (const path of TX_PATHS) {
      expect((await on.get(path)).status).toBe(200);
      const { status, body } = await get(off, path);
      expect(status).toBe(501);
      expect(body.error).toMatchObject({ code: 'feature_disabled', details: { feature: 'tx_index' } });
      expect(body.error!.message).toBe('this needs the transaction index: index.tx is off');
    }
  });

  test('addresses get 501', async () => {
    for (const path of ADDRESS_PATHS) {
      expect((await on.get(path)).status).toBe(200);
      const { status, body } = await get(off, path);
      expect(status).toBe(501);
      expect(body.error).toMatchObject({ code: 'feature_disabled', details: { feature: 'address_index' } });
    }
  });

  test('many addresses get 501', async () => {
    for (const path of ['/api/balances', '/api/utxos']) {
      const body = JSON.stringify({ addresses: [ADDRESS] });
      expect((await on.post(path, body)).status).toBe(200);
      const reply = await off.post(path, body);
      expect(reply.status).toBe(501);
      expect(await reply.json()).toMatchObject({ error: { details: { feature: 'address_index' } } });
    }
  });

  test('spenders of outputs get 501', async () => {
    for (const path of SPENDER_PATHS) {
      expect((await on.get(path)).status).toBe(200);
      const { status, body } = await get(off, path);
      expect(status).toBe(501);
      expect(body.error).toMatchObject({ code: 'feature_disabled', details: { feature: 'spender_index' } });
      expect(body.error!.message).toBe('this needs the spender index: index.spender is off');
    }
  });

  test('getrawtransaction needs the block of the transaction', async () => {
    expect(await rpcError(off, 'getrawtransaction', CHILD)).toEqual([
      -5,
      'No such mempool transaction. Use -txindex or provide a block hash to enable blockchain transaction queries. Use gettransaction for wallet transactions.',
      'feature_disabled',
    ]);
    for (const verbosity of [0, 1, 2])
      expect(await off.rpc<unknown>('getrawtransaction', CHILD, verbosity, blockHash)).toEqual(
        await on.rpc<unknown>('getrawtransaction', CHILD, verbosity, blockHash),
      );
  });

  test('gettxoutproof finds a transaction by an unspent output or in its block', async () => {
    const expected = await on.rpc<string>('gettxoutproof', [PARENT]);
    expect(await off.rpc<string>('gettxoutproof', [PARENT])).toBe(expected);
    const inBlock = await on.rpc<string>('gettxoutproof', [CHILD]);
    expect(await off.rpc<string>('gettxoutproof', [CHILD], blockHash)).toBe(inBlock);
    expect(await rpcError(off, 'gettxoutproof', [CHILD])).toEqual([
      -5,
      'Transaction not yet in block, or its outputs are spent: without index.tx, name its block',
      'feature_disabled',
    ]);
  });

  test('scantxoutset reads all coins', async () => {
    const found = await off.rpc<{ unspents: unknown[] }>('scantxoutset', 'start', [`addr(${ADDRESS})`]);
    expect(found.unspents.length).toBe(2);
    expect(found).toEqual(await on.rpc('scantxoutset', 'start', [`addr(${ADDRESS})`]));
  });

  test('methods of the address index name the setting', async () => {
    for (const method of ['getaddressbalance', 'getaddresstxids', 'getaddressutxos', 'getaddressdeltas'])
      expect(await rpcError(off, method, { addresses: [ADDRESS] })).toEqual([
        -1,
        'this needs the address index: index.address is off',
        'feature_disabled',
      ]);
  });

  test('gettxspendingprevout finds confirmed spends by the spender index', async () => {
    const outputs = [
      { txid: PARENT, vout: 0 },
      { txid: PARENT, vout: 1 },
      { txid: hashToHex(chain.coin(1).outpoint.txid), vout: 0 },
      { txid: CHILD, vout: 0 },
      { txid: CHILD, vout: 2 ** 24 },
    ];
    const spend = (n: number) => ({ spendingtxid: txidAt(n), blockhash: blockHash });
    const found = outputs.map((output, i) => ({ ...output, ...[spend(2), {}, spend(1), spend(3), {}][i] }));
    expect(await on.rpc<unknown>('gettxspendingprevout', outputs)).toEqual(found);
    expect(await on.rpc<unknown>('gettxspendingprevout', outputs, { mempool_only: true })).toEqual(outputs);
    expect(await on.rpc<unknown>('gettxspendingprevout', outputs.slice(0, 1), { return_spending_tx: true })).toEqual([
      { ...found[0], spendingtx: block.parsed().txs[2]!.raw.toHex() },
    ]);
    expect(await off.rpc<unknown>('gettxspendingprevout', outputs)).toEqual(outputs);
    expect(await rpcError(off, 'gettxspendingprevout', outputs, { mempool_only: false })).toEqual([
      -1,
      'Mempool lacks a relevant spend, and txospenderindex is unavailable.',
      'feature_disabled',
    ]);
  });

  test('the state of the indexes is shown', async () => {
    const { indexes } = await off.json<{ indexes: object }>('/api/info');
    const none = { enabled: false, height: null, synced: false };
    expect(indexes).toEqual({ tx: none, address: none, spender: none, coinStats: none, filter: none });
    expect(await off.rpc<object>('getindexinfo')).toEqual({});
    expect(await on.rpc<object>('getindexinfo')).toEqual({
      txindex: { synced: true, best_block_height: 105 },
      txospenderindex: { synced: true, best_block_height: 105 },
    });
    const shown = (await on.json<{ indexes: Record<string, object> }>('/api/info')).indexes;
    for (const name of ['tx', 'address', 'spender'])
      expect(shown[name]).toEqual({ enabled: true, height: 105, synced: true });
  });
});

test('an index that is being built is never used', async () => {
  await using node = new TestNode({ params: chain.params, indexes: NO_INDEXES });
  await node.take(chain.blocks.slice(1));
  await node.restart({ indexes: ALL_INDEXES });
  const api = apiOf(node, ALL_INDEXES);
  try {
    const { indexes } = node.chain;
    // The transactions are in the last job but one.
    for (const height of [50, 103]) {
      const planned = indexes.nextJob(height - indexes.progress()[0]!.height)!;
      indexes.finishJob(planned, runIndexJob(planned.job));
      for (const [path, index] of [
        ...TX_PATHS.map((each) => [each, 'tx'] as const),
        ...ADDRESS_PATHS.map((each) => [each, 'address'] as const),
        ...SPENDER_PATHS.map((each) => [each, 'spender'] as const),
      ]) {
        const reply = await api.get(path);
        expect(reply.status).toBe(503);
        expect(reply.headers.get('retry-after')).not.toBeNull();
        expect(await reply.json()).toMatchObject({
          error: { code: 'index_not_ready', details: { index, height, tipHeight: 105 } },
        });
      }
      expect((await rpcError(api, 'getrawtransaction', CHILD)).slice(0, 2)).toEqual([
        -5,
        'No such mempool transaction. Blockchain transactions are still in the process of being indexed. Use gettransaction for wallet transactions.',
      ]);
      for (const path of BLOCK_PATHS) expect((await api.get(path)).status).toBe(200);
      expect(await api.rpc<object>('getindexinfo', 'txindex')).toEqual({
        txindex: { synced: false, best_block_height: height },
      });
      const { checks } = (await (await api.get('/readyz')).json()) as { checks: { indexes: object } };
      expect(checks.indexes).toMatchObject({ status: height === 103 ? 'ok' : 'degraded', lag: 105 - height });
    }
    for (let planned = indexes.nextJob(); planned !== null; planned = indexes.nextJob())
      indexes.finishJob(planned, runIndexJob(planned.job));
    for (const path of [...TX_PATHS, ...SPENDER_PATHS, ...ADDRESS_PATHS])
      expect((await api.get(path)).status).toBe(200);
  } finally {
    await api.close();
  }
});
