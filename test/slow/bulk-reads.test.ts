import { beforeAll, describe, expect, test } from 'bun:test';
import type { Transaction } from '../../src/primitives/transaction.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { ChainModel } from '../lib/chain-model.ts';
import { broadcast, idOf, nodeWith, post, submit } from '../lib/mempool-node.ts';
import type { ApiClient, Balance, ErrorBody, Page, Tip, TxBody, TxStatus, Utxo } from '../lib/node-client.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { extend, recentChain, scriptPath } from '../lib/sample-chains.ts';
import { coinOf, lockOf, spend, sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

const SHOP = lockOf('p2wpkh', 7);
const modelOf = (chain: RegtestChain, waiting: readonly Transaction[] = []) =>
  new ChainModel(
    chain.blocks.map(({ raw }) => raw),
    waiting,
  );

/** Compares all replies with a model that adds up the blocks. */
async function compare(api: ApiClient, model: ChainModel): Promise<void> {
  await compareOutspends(api, model);
  await compareAddresses(api, model);
  await compareTransactions(api, model);
}

async function compareTransactions(api: ApiClient, model: ChainModel): Promise<void> {
  const txids = [...model.txs.keys()];
  const unknown = ['ab'.repeat(32), 'cd'.repeat(32)];
  const asked = [unknown[0], ...txids, ...txids.slice(0, 3), unknown[1]];
  const { status, body } = await post<Details>(api, '/api/txs/details', { txids: asked });
  expect([status, body.tip, body.missing, body.pruned, body.remaining]).toEqual([200, model.tip, unknown, [], []]);
  expect(body.items.map(({ txid }) => txid)).toEqual(txids);
  for (const [i, { place, spends, outputs }] of [...model.txs.values()].entries()) {
    const item = body.items[i]!;
    expect(item).toEqual(await api.json<TxBody>(`/api/tx/${item.txid}`));
    expect(item.status).toEqual(model.status(place) as TxStatus);
    const paid = item.vin.flatMap(({ prevout }) => (prevout ? [[prevout.value, prevout.script.hex]] : []));
    expect(paid).toEqual(spends.map(({ value, script }) => [value, script]));
    expect(item.vout.map(({ spent }) => spent)).toEqual(
      outputs.map(({ spentBy, unspendable }) => (unspendable ? null : spentBy !== null)),
    );
  }
}

interface Details {
  readonly tip: Tip;
  readonly items: readonly TxBody[];
  readonly missing: readonly string[];
  readonly pruned: readonly string[];
  readonly remaining: readonly string[];
}

interface OwnedUtxo extends Utxo {
  readonly address: string;
  readonly spentInMempool?: string | null;
}

/** All pages of POST /api/utxos. */
async function allUtxos(api: ApiClient, addresses: readonly string[], query: string): Promise<OwnedUtxo[]> {
  const items: OwnedUtxo[] = [];
  for (let path = `/api/utxos?${query}`; ; ) {
    const reply = await post<Page<OwnedUtxo> & { total: { count: number; value: number } }>(api, path, { addresses });
    if (reply.status !== 200) throw new Error(reply.text);
    const { items: page, next, total } = reply.body;
    items.push(...page);
    if (next === null) {
      expect(total).toEqual({ count: items.length, value: items.reduce((sum, { value }) => sum + value, 0) });
      return items;
    }
    path = next;
  }
}

async function compareAddresses(api: ApiClient, model: ChainModel): Promise<void> {
  const { tip, scripts } = model;
  const addresses = scripts.map((script) => `script:${script}`);
  const { status, body } = await post<{ tip: Tip; items: Balance[] }>(api, '/api/balances', { addresses });
  expect([status, body.tip]).toEqual([200, tip]);
  for (const [i, script] of scripts.entries()) {
    expect(body.items[i]).toMatchObject({ ...model.balance(script), script: { hex: script }, tip });
    expect(body.items[i]!).toEqual(await api.json<Balance>(`/api/balance/script:${script}`));
  }
  for (const confirmed of [false, true]) {
    const items = await allUtxos(api, addresses, `limit=7&confirmed=${confirmed}`);
    const heights = items.map(({ height }) => height ?? Number.POSITIVE_INFINITY);
    expect(heights).toEqual(heights.toSorted((a, b) => a - b));
    for (const script of scripts) {
      const own = items.filter((item) => item.script === script);
      const line = ({ txid, vout, value, height }: OwnedUtxo) => `${txid}:${vout} ${value} ${height}`;
      expect(own.map(line).sort()).toEqual(model.utxos(script, confirmed));
      const path = `/api/address/script:${script}/utxos?confirmed=${confirmed}`;
      expect(own.map(({ address: _, ...item }) => item)).toEqual((await api.all<Utxo>(path)).items as typeof own);
    }
  }
}

async function compareOutspends(api: ApiClient, model: ChainModel): Promise<void> {
  for (const txid of model.txs.keys())
    expect(await api.json<object[]>(`/api/tx/${txid}/outspends`)).toEqual(model.outspends(txid));
  const outputs = model.outputs.map(({ txid, vout }) => ({ txid, vout }));
  const found = model.outputs.map(({ txid, vout, spentBy }) => ({
    txid,
    vout,
    ...(spentBy && { spendingtxid: spentBy.txid }),
    ...(spentBy?.place && { blockhash: spentBy.place.blockHash }),
  }));
  expect(await api.rpc<object[]>('gettxspendingprevout', [outputs])).toEqual(found);
}

describe('reads of many things at once agree with the sum of the blocks', () => {
  const base = recentChain(120);
  extend(base, 2, 4);
  const stale = base.fork();
  const winner = base.fork();
  // In both branches, at different heights, in one branch, and in the mempool.
  const both = sweep(base.coin(1), SHOP);
  const lost = spend(base.coin(2), [
    { to: SHOP, value: 20_0000_0000n },
    { to: lockOf('p2tr', 9), value: 29_9999_0000n },
  ]);
  const lostChild = sweep(coinOf(lost, 0), 'p2tr');
  const double = sweep(base.coin(2), 'p2wpkh', 5000n);
  stale.mine(1, { txs: [both, lost, lostChild] });
  extend(stale, 2, 3);
  winner.mine(2);
  winner.mine(1, { txs: [both, double] });
  extend(winner, 2, 5);
  const first = spend(base.coin(3), [
    { to: SHOP, value: 9_0000_0000n },
    { to: 'p2wsh-multisig', value: 40_9999_0000n },
  ]);
  const second = spend([coinOf(first, 0), coinOf(both, 0)], [{ to: SHOP, value: 58_9998_0000n }]);
  let api: ApiClient;
  beforeAll(async () => {
    const node = await nodeWith(stale, ['--index.spender']);
    api = node.api;
    // The directory has no spender index, so the node builds it.
    await node.until('the spender index', async () => {
      const { indexes } = await api.json<{ indexes: { spender: { synced: boolean } } }>('/api/info');
      return indexes.spender.synced;
    });
  });

  test('with an empty mempool', () => compare(api, modelOf(stale)));

  test('with transactions in the mempool', async () => {
    for (const tx of [first, second]) await broadcast(api, tx);
    await compare(api, modelOf(stale, [first, second]));
  });

  test('after a reorg that changes spends, confirms some of them elsewhere and returns others', async () => {
    for (const block of winner.blocks.slice(base.height + 1)) await submit(api, block);
    expect((await api.json<{ hash: string }>('/api/blocks/tip')).hash).toBe(modelOf(winner).tip.hash);
    // The transactions of the stale branch that its end has not confirmed are spent coins of the winner or wait.
    const waiting = await api.json<{ items: string[] }>('/api/mempool/txids');
    const known = new Map([...stale.blocks.flatMap(({ txs }) => txs), first, second].map((tx) => [idOf(tx), tx]));
    expect(waiting.items).toContain(idOf(second));
    expect(waiting.items).not.toContain(idOf(lost));
    await compare(
      api,
      modelOf(
        winner,
        waiting.items.map((txid) => known.get(txid)!),
      ),
    );
  });

  test('an output that does not exist is 404, and an index that is none 400', async () => {
    const path = `/api/tx/${idOf(both)}/outspend`;
    expect(await api.json<object>(`${path}/0`)).toMatchObject({ spent: true, txid: idOf(second), vin: 1 });
    const missing = await api.request<ErrorBody>(`${path}/1`);
    expect([missing.status, missing.body.error.code]).toEqual([404, 'not_found']);
    for (const text of ['x', '-1', '01', '1.5']) {
      const { status, body } = await api.request<ErrorBody>(`${path}/${text}`);
      expect([text, status, body.error.code]).toEqual([text, 400, 'invalid_parameter']);
    }
    const unknown = await api.request<ErrorBody>(`/api/tx/${'ab'.repeat(32)}/outspends`);
    expect([unknown.status, unknown.body.error.code]).toEqual([404, 'tx_not_found']);
    expect((await api.request<ErrorBody>(`/api/tx/xyz/outspends`)).body.error.code).toBe('invalid_txid');
  });

  test('a page after a reorg of its last coin is 409, and a cursor of other addresses 400', async () => {
    const addresses = [scriptPath(SHOP), scriptPath(lockOf('p2wpkh'))];
    const first = await post<Page<Utxo>>(api, '/api/utxos?limit=2&confirmed=true', { addresses });
    expect(first.body.items).toHaveLength(2);
    const next = first.body.next!;
    // The same set in another order, with one address twice.
    const again = await post<Page<Utxo>>(api, next, { addresses: [addresses[1], addresses[0], addresses[1]] });
    expect(again.status).toBe(200);
    const other = await post<ErrorBody>(api, next, { addresses: addresses.slice(1) });
    expect([other.status, other.body.error.code]).toEqual([400, 'invalid_cursor']);
    const path = `${next.slice(0, next.indexOf('?'))}?limit=1000&confirmed=true`;
    const count = (await post<Page<Utxo>>(api, path, { addresses })).body.items.length;
    const toTip = await post<Page<Utxo>>(api, path.replace('1000', String(count - 1)), { addresses });
    await api.rpc('invalidateblock', [winner.tip.parent!.hash.toReversed().toHex()]);
    const gone = await post<ErrorBody>(api, toTip.body.next!, { addresses });
    expect([gone.status, gone.body.error.code]).toEqual([409, 'cursor_reorged']);
    await api.rpc('reconsiderblock', [winner.tip.parent!.hash.toReversed().toHex()]);
  });

  test('transactions of a megabyte are in one reply, and the rest is named', async () => {
    const chain = recentChain(103);
    const payee = { to: lockOf('p2wpkh'), value: 1000n };
    const big = [1, 2].map((n) => spend(chain.coin(n), new Array(18_000).fill(payee)));
    for (const tx of big) chain.mine(1, { txs: [tx] });
    const { api } = await nodeWith(chain);
    const txids = [...big.map(idOf), idOf(chain.at(1).txs[0]!)];
    const first = await post<Details>(api, '/api/txs/details', { txids });
    expect([first.body.items.map(({ txid }) => txid), first.body.remaining]).toEqual([
      txids.slice(0, 1),
      txids.slice(1),
    ]);
    const second = await post<Details>(api, '/api/txs/details', { txids: first.body.remaining });
    expect([second.body.items.map(({ txid }) => txid), second.body.remaining]).toEqual([txids.slice(1), []]);
    const bad = await post<ErrorBody>(api, '/api/txs/details', { txids: [...txids, 'x'] });
    expect([bad.status, bad.body.error.code]).toEqual([400, 'invalid_txid']);
  });

  test('addresses are checked', async () => {
    const good = scriptPath(SHOP);
    for (const path of ['/api/balances', '/api/utxos']) {
      const bad = await post<ErrorBody>(api, path, { addresses: [good, good, `${good}x`] });
      expect([bad.status, bad.body.error.code]).toEqual([400, 'invalid_address']);
      expect(bad.body.error.details).toMatchObject({ index: 2, reason: 'malformed', network: 'regtest' });
      for (const body of [{}, [], { addresses: good }, { addresses: new Array(1001).fill(good) }]) {
        const reply = await post<ErrorBody>(api, path, body);
        expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_parameter']);
      }
      const none = await post<Page<unknown>>(api, path, { addresses: [] });
      expect([none.status, none.body.items]).toEqual([200, []]);
      const most = await post<Page<unknown>>(api, path, { addresses: new Array(1000).fill(good) });
      expect(most.status).toBe(200);
    }
  });
});
