import { beforeAll, describe, expect, test } from 'bun:test';
import type { Transaction } from '../../src/primitives/transaction.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { ChainModel } from '../lib/chain-model.ts';
import { broadcast, idOf, nodeWith, submit } from '../lib/mempool-node.ts';
import type { ApiClient, ErrorBody } from '../lib/node-client.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { extend, recentChain } from '../lib/sample-chains.ts';
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
});
