import { beforeAll, describe, expect, test } from 'bun:test';
import { hash160 } from '../../src/crypto/hash-functions.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { addressOf } from '../../src/script/address.ts';
import { p2wpkh } from '../../src/script/templates.ts';
import { PrivateKey } from '../../src/wallet/keys/private-key.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { broadcast, hexOf, idOf, mine, nodeWith, post } from '../lib/mempool-node.ts';
import type {
  AddressTx,
  ApiClient,
  Balance,
  ErrorBody,
  Page,
  Tip,
  TxBody,
  TxStatus,
  Utxo,
} from '../lib/node-client.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { recentChain, scriptPath } from '../lib/sample-chains.ts';
import { coinOf, lockOf, spend, sweep, testSecret } from '../lib/tx-builder.ts';

cleanUpAfterTests();

type UtxoPage = Page<Utxo> & { total: { count: number; value: number } };
type TxPage = Page<AddressTx> & { total: { confirmed: number; mempool: number } };

/**
 * Returns the balance of a script after a check that REST's coins and history add up to it, mempool and chain together.
 */
async function addsUp(api: ApiClient, script: string): Promise<Balance> {
  const balance = await api.json<Balance>(`/api/balance/${script}`);
  const path = `/api/address/${script}`;
  const owned = await api.all<Utxo, UtxoPage>(`${path}/utxos?limit=3`);
  const value = (items: readonly Utxo[]) => items.reduce((sum, utxo) => sum + utxo.value, 0);
  expect([value(owned.items), owned.items.length]).toEqual([balance.total, owned.first.total.count]);
  expect(owned.first.total.value).toBe(balance.total);
  const inChain = await api.all<Utxo, UtxoPage>(`${path}/utxos?limit=3&confirmed=true`);
  expect([value(inChain.items), inChain.items.length]).toEqual([balance.confirmed, balance.utxoCount]);
  const whole = await api.all<AddressTx, TxPage>(`${path}/txs?limit=2`);
  expect(whole.first.total).toEqual({ confirmed: balance.txCount, mempool: balance.mempoolTxCount });
  expect(new Set(whole.items.map(({ txid }) => txid)).size).toBe(balance.txCount + balance.mempoolTxCount);
  expect(whole.items.reduce((sum, { net }) => sum + net, 0)).toBe(balance.total);
  const ascending = await api.all<AddressTx, TxPage>(`${path}/txs?limit=2&order=asc`);
  const inBlocks = (items: readonly AddressTx[]) => items.filter(({ status }) => status.confirmed);
  expect(inBlocks(ascending.items)).toEqual(inBlocks(whole.items).reverse());
  const waiting = await api.all<AddressTx, Page<AddressTx> & { net: number; count: number }>(
    `/api/mempool/address/${script}?limit=2`,
  );
  expect([waiting.first.net, waiting.first.count]).toEqual([balance.unconfirmed, balance.mempoolTxCount]);
  expect(waiting.items).toEqual(whole.items.filter(({ status }) => !status.confirmed));
  return balance;
}

describe('an unconfirmed transaction', () => {
  const chain: RegtestChain = recentChain(140);
  const shop = lockOf('p2tr', 5);
  const script = scriptPath(shop);
  let api: ApiClient;
  beforeAll(async () => {
    api = (await nodeWith(chain)).api;
  });

  test('is part of balance, history and coins, before and after a block', async () => {
    expect(await addsUp(api, script)).toMatchObject({ total: 0, txCount: 0, mempoolTxCount: 0 });
    const deposits = [1, 2, 3].map((n) =>
      spend(chain.coin(n), [
        { to: shop, value: BigInt(n) * 1_0000_0000n },
        { to: shop, value: 5000n },
        { to: 'p2wpkh', value: 49_9999_0000n - BigInt(n) * 1_0000_0000n },
      ]),
    );
    for (const tx of deposits) await broadcast(api, tx);
    expect(await addsUp(api, script)).toMatchObject({
      confirmed: 0,
      unconfirmed: 6_0001_5000,
      pendingReceived: 6_0001_5000,
      pendingSpent: 0,
      mempoolTxCount: 3,
      utxoCount: 0,
    });
    await mine(api, chain, deposits.slice(0, 2));
    expect(await addsUp(api, script)).toMatchObject({
      confirmed: 3_0001_0000,
      unconfirmed: 3_0000_5000,
      total: 6_0001_5000,
    });
    // One of the chain and one of the mempool are spent together.
    const out = spend([coinOf(deposits[0]!, 0), coinOf(deposits[2]!, 1)], [{ to: shop, value: 1_0000_4000n }]);
    await broadcast(api, out);
    expect(await addsUp(api, script)).toMatchObject({
      confirmed: 3_0001_0000,
      pendingSpent: 1_0000_5000,
      pendingReceived: 4_0000_9000,
      utxoCount: 4,
      mempoolTxCount: 2,
    });
    const { items } = await api.json<Page<Utxo & { spentInMempool: string | null }>>(
      `/api/address/${script}/utxos?confirmed=true`,
    );
    expect(items.map(({ spentInMempool }) => spentInMempool)).toEqual([idOf(out), null, null, null]);
    await mine(api, chain, [deposits[2]!, out]);
    expect(await addsUp(api, script)).toMatchObject({ unconfirmed: 0, mempoolTxCount: 0, txCount: 4 });
  });

  test('is shown with its position in the mempool', async () => {
    const parent = spend(chain.coin(4), [
      { to: shop, value: 20_0000_0000n },
      { to: 'p2wpkh', value: 29_9999_9000n },
    ]);
    const child = sweep(coinOf(parent, 1), 'p2wpkh', 9000n);
    await broadcast(api, parent);
    const alone = await api.json<TxBody & { feeRate: number; mempool: Record<string, unknown> }>(
      `/api/tx/${idOf(parent)}`,
    );
    expect(alone).toMatchObject({
      fee: 1000,
      status: { confirmed: false, confirmations: 0, blockHash: null },
      mempool: { ancestorCount: 1, descendantCount: 1, effectiveFeeRate: alone.feeRate, replaces: [] },
    });
    expect(alone.vin[0]!.prevout).toMatchObject({ height: 4, isCoinbase: true });
    expect(alone.vout.map(({ spent }) => spent)).toEqual([false, false]);
    await broadcast(api, child);
    const both = await api.json<TxBody & { mempool: Record<string, number> }>(`/api/tx/${idOf(parent)}`);
    expect(both.mempool).toMatchObject({ ancestorFee: 1000, descendantCount: 2 });
    expect(both.mempool.effectiveFeeRate).toBeGreaterThan(alone.feeRate);
    expect(both.vout.map(({ spent }) => spent)).toEqual([false, true]);
    const young = await api.json<TxBody>(`/api/tx/${idOf(child)}`);
    expect(young.vin[0]!.prevout).toMatchObject({ height: null, isCoinbase: false, value: 29_9999_9000 });
    // A coin of the chain that it spends is spent.
    const coinbase = await api.json<TxBody>(`/api/tx/${idOf(chain.at(4).txs[0]!)}`);
    expect(coinbase.vout[0]!.spent).toBe(true);
    const block = await api.json<Page<TxBody>>(
      `/api/block/${(await api.json<{ hash: string }>('/api/block-by-height/4')).hash}/txs`,
    );
    expect(block.items[0]!.vout[0]!.spent).toBe(true);
    expect((await api.request<string>(`/api/tx/${idOf(parent)}/hex`)).text).toBe(hexOf(parent));
    expect(await api.json<TxStatus>(`/api/tx/${idOf(parent)}/status`)).toMatchObject({ confirmed: false });
    const proof = await api.request<ErrorBody>(`/api/tx/${idOf(parent)}/proof`);
    expect([proof.status, proof.body.error.code]).toEqual([409, 'tx_unconfirmed']);
    const statuses = await post<Record<string, TxStatus | null>>(api, '/api/txs/status', {
      txids: [idOf(parent), 'ab'.repeat(32)],
    });
    expect(Object.values(statuses.body)).toEqual([expect.objectContaining({ confirmed: false }), null]);
  });

  test('is reported to clients of JSON-RPC as Core does', async () => {
    const [parent, child] = chainOf(chain, 5, 2);
    for (const tx of [parent!, child!]) await broadcast(api, tx);
    const [p, c] = [idOf(parent!), idOf(child!)];
    const entry = await api.rpc<Record<string, unknown>>('getmempoolentry', [c]);
    expect(entry).toMatchObject({
      ancestorcount: 2,
      descendantcount: 1,
      depends: [p],
      spentby: [],
      height: chain.height,
      fees: { base: 0.00001, modified: 0.00001, ancestor: 0.00002 },
      unbroadcast: true,
    });
    expect(await api.rpc<string[]>('getmempoolancestors', [c])).toEqual([p]);
    expect(await api.rpc<string[]>('getmempooldescendants', [p])).toEqual([c]);
    expect(await api.rpc<object>('getmempoolancestors', [c, true])).toHaveProperty(p);
    const cluster = await api.rpc<{ txcount: number; clusterweight: number; chunks: { txs: string[] }[] }>(
      'getmempoolcluster',
      [p],
    );
    expect([cluster.txcount, cluster.chunks.flatMap(({ txs }) => txs)]).toEqual([2, [p, c]]);
    // The mempool has another cluster, with a higher feerate.
    const diagram = await api.rpc<{ weight: number; fee: number }[]>('getmempoolfeeratediagram');
    expect(diagram[0]).toEqual({ weight: 0, fee: 0 });
    expect(diagram.at(-1)!.weight - diagram.at(-2)!.weight).toBe(cluster.clusterweight);
    expect(diagram.at(-1)!.fee - diagram.at(-2)!.fee).toBeCloseTo(0.00002, 10);
    const rates = diagram.slice(1).map(({ weight, fee }, i) => (fee - diagram[i]!.fee) / (weight - diagram[i]!.weight));
    expect(rates).toEqual(rates.toSorted((a, b) => b - a));
    const outpoint = { txid: p, vout: 0 };
    expect(await api.rpc<object[]>('gettxspendingprevout', [[outpoint, { txid: c, vout: 0 }]])).toEqual([
      { ...outpoint, spendingtxid: c },
      { txid: c, vout: 0 },
    ]);
    expect(await api.rpc<object[]>('gettxspendingprevout', [[outpoint], { return_spending_tx: true }])).toMatchObject([
      { spendingtx: hexOf(child!) },
    ]);
    expect(await api.rpc<object>('gettxout', [c, 0])).toMatchObject({ confirmations: 0, coinbase: false });
    for (const params of [
      [p, 0],
      [c, 0, false],
    ]) {
      const { body } = await api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'gettxout', params });
      expect(body).toEqual({ jsonrpc: '2.0', id: 1, result: null });
    }
    expect(await api.rpc<string>('getrawtransaction', [c])).toBe(hexOf(child!));
    const verbose = await api.rpc<Record<string, unknown>>('getrawtransaction', [c, 2]);
    expect(verbose).toMatchObject({ txid: c });
    expect(verbose).not.toHaveProperty('blockhash');
    // As in Bitcoin Core, verbosity 2 adds only what the undo data of a block has.
    expect(verbose).not.toHaveProperty('fee');
    expect(verbose).not.toHaveProperty('vin.0.prevout');
    const all = await api.rpc<Record<string, object>>('getrawmempool', [true]);
    expect(all[c]).toEqual(entry);
    const { txids, mempool_sequence: sequence } = await api.rpc<{ txids: string[]; mempool_sequence: number }>(
      'getrawmempool',
      [false, true],
    );
    expect(new Set(txids)).toEqual(new Set(Object.keys(all)));
    expect(sequence).toBeGreaterThan(txids.length);
    expect(await api.rpc<boolean>('prioritisetransaction', [c, 0, 5000])).toBe(true);
    expect(await api.rpc<object>('getprioritisedtransactions')).toEqual({
      [c]: { fee_delta: 5000, in_mempool: true, modified_fee: 6000 },
    });
    const prioritised = await api.rpc<{ fees: object; chunkweight: number }>('getmempoolentry', [p]);
    expect(prioritised.fees).toMatchObject({ base: 0.00001, descendant: 0.00007, chunk: 0.00007 });
    const unknown = { jsonrpc: '2.0', id: 1, method: 'getmempoolentry', params: ['00'.repeat(32)] };
    expect((await api.rpcBody(unknown)).body).toMatchObject({
      error: { code: -5, message: 'Transaction not in mempool' },
    });
  });

  test('touches the same addresses whether a few are requested or thousands', async () => {
    const target = lockOf('p2wpkh', 77);
    const txs = [21, 22].map((n) => sweep(chain.coin(n), target));
    const sequence = async () =>
      (await api.rpc<{ mempool_sequence: number }>('getrawmempool', [false, true])).mempool_sequence;
    const before = await sequence();
    for (const tx of txs) await broadcast(api, tx);
    expect(await sequence()).toBe(before + txs.length);
    const address = addressOf(target.scriptPubKey, regtest.address)!;
    const few = await api.rpc<{ txid: string; satoshis: number }[]>('getaddressmempool', [address]);
    expect(few.map(({ txid }) => txid)).toEqual(txs.map(idOf));
    const strangers = Array.from(
      { length: 2000 },
      (_, i) => addressOf(p2wpkh(hash160(new TextEncoder().encode(`nobody ${i}`))), regtest.address)!,
    );
    const addresses = [...strangers, address];
    expect(await api.rpc<object[]>('getaddressmempool', [{ addresses }])).toEqual(few);
    await mine(api, chain, txs);
    expect(await api.rpc<object[]>('getaddressmempool', [{ addresses }])).toEqual([]);
    for (const method of ['getaddressbalance', 'getaddresstxids', 'getaddressutxos'])
      expect(await api.rpc<object>(method, [{ addresses }])).toEqual(await api.rpc<object>(method, [address]));
  });

  test('is spent by transactions that are signed or completed here', async () => {
    const key = new PrivateKey(testSecret('spends what waits'));
    const deposit = sweep(chain.coin(20), p2wpkh(hash160(key.publicKey)));
    await broadcast(api, deposit);
    const outpoint = { txid: idOf(deposit), vout: 0 };
    const hex = await api.rpc<string>('createrawtransaction', [[outpoint], [{ data: '00' }]]);
    const wif = key.revealWif(regtest.wif);
    const signed = await api.rpc<{ hex: string; complete: boolean }>('signrawtransactionwithkey', [hex, [wif]]);
    expect(signed.complete).toBe(true);
    expect(await api.rpc<string>('combinerawtransaction', [[hex, signed.hex]])).toBe(signed.hex);
    const psbt = await api.rpc<string>('utxoupdatepsbt', [await api.rpc<string>('converttopsbt', [hex])]);
    const { inputs } = await api.rpc<{ inputs: object[] }>('decodepsbt', [psbt]);
    expect(inputs).toMatchObject([{ non_witness_utxo: { txid: outpoint.txid } }]);
    expect(await api.rpc<object>('descriptorprocesspsbt', [psbt, [`wpkh(${wif})`]])).toMatchObject({
      complete: true,
      hex: signed.hex,
    });
  });

  test('is summed up, and listed in the order of arrival', async () => {
    const summary = await api.json<Record<string, unknown> & { feeHistogram: [number, number][]; tip: Tip }>(
      '/api/mempool',
    );
    const info = await api.rpc<Record<string, number>>('getmempoolinfo');
    expect(summary).toMatchObject({ loaded: true, count: info.size!, vsize: info.bytes!, usage: info.usage! });
    expect(summary.feeHistogram.reduce((sum, [, vsize]) => sum + vsize, 0)).toBe(info.bytes!);
    const rates = summary.feeHistogram.map(([rate]) => rate);
    expect(rates).toEqual(rates.toSorted((a, b) => b - a));
    const { items, pages } = await api.all<string, Page<string>>('/api/mempool/txids?limit=2');
    expect(pages).toBeGreaterThan(1);
    expect(items).toEqual(await api.rpc<string[]>('getrawmempool'));
    const recent = await api.json<{ txid: string; fee: number }[]>('/api/mempool/recent');
    expect(recent.map(({ txid }) => txid)).toEqual(items.toReversed().slice(0, 20));
    expect((await api.json<{ mempoolCount: number }>('/api/info')).mempoolCount).toBe(items.length);
    const etag = (await api.request('/api/mempool')).headers.get('etag')!;
    expect((await api.request('/api/mempool', { headers: { 'if-none-match': etag } })).status).toBe(304);
    await broadcast(api, sweep(chain.coin(9), 'p2wpkh'));
    expect((await api.request('/api/mempool', { headers: { 'if-none-match': etag } })).status).toBe(200);
  });

  test('paging continues when its last transaction is mined, and reports when its block is lost', async () => {
    const target = lockOf('p2pkh', 8);
    const path = `/api/address/${scriptPath(target)}/txs`;
    const txs = [10, 11, 12, 13, 14].map((n) => sweep(chain.coin(n), target, BigInt(1000 + n)));
    for (const tx of txs) await broadcast(api, tx);
    const ids = txs.map(idOf);
    for (const order of ['desc', 'asc']) {
      const first = await api.json<TxPage>(`${path}?limit=2&order=${order}`);
      const expected = order === 'asc' ? ids : ids.toReversed();
      expect(first.items.map(({ txid }) => txid)).toEqual(expected.slice(0, 2));
    }
    const [desc, asc] = await Promise.all(
      ['desc', 'asc'].map((order) => api.json<TxPage>(`${path}?limit=2&order=${order}`)),
    );
    await mine(api, chain, [txs[1]!, txs[3]!]);
    for (const page of [desc!, asc!]) {
      const rest = await api.all<AddressTx>(page.next!);
      const seen = new Set([...page.items, ...rest.items].map(({ txid }) => txid));
      expect([...seen].sort()).toEqual(ids.toSorted());
    }
    const page = await api.json<TxPage>(`${path}?limit=1&order=asc`);
    expect((await api.request(page.next!)).status).toBe(200);
    const branch = chain.fork(chain.height - 1);
    await mine(api, branch);
    await mine(api, branch);
    const lost = await api.request<ErrorBody>(page.next!);
    expect([lost.status, lost.body.error.code]).toEqual([409, 'cursor_reorged']);
    expect((await addsUp(api, scriptPath(target))).mempoolTxCount).toBe(5);
  });
});

/** Transactions that each spend the one before. */
function chainOf(chain: RegtestChain, height: number, count: number): Transaction[] {
  const txs: Transaction[] = [];
  for (let i = 0; i < count; i++) txs.push(sweep(i === 0 ? chain.coin(height) : coinOf(txs[i - 1]!, 0), 'p2wpkh'));
  return txs;
}
