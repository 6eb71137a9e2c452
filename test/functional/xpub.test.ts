import { beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Transaction } from '../../src/primitives/transaction.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { ChainModel } from '../lib/chain-model.ts';
import { HdAccount } from '../lib/hd-account.ts';
import { broadcast, idOf, nodeWith, post, submit } from '../lib/mempool-node.ts';
import type { AddressTx, ApiClient, ErrorBody, Page, Tip, Utxo } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess } from '../lib/node-process.ts';
import { extend, recentChain } from '../lib/sample-chains.ts';
import { coinOf, lockOf, spend, sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

const account = new HdAccount('functional account');
const { descriptor } = account;
const GAP = 20;
/** Indexes that are derived to find what the account owns, without a gap limit. */
const DEPTH = 100;
const places = new Map(
  [0, 1].flatMap((branch) =>
    Array.from({ length: DEPTH }, (_, index) => [account.scriptAt(branch, index).toHex(), { branch, index }] as const),
  ),
);

interface Summary {
  readonly tip: Tip;
  readonly mempoolTxCount: number;
  readonly txCount: number;
  readonly branches: readonly { lastUsedIndex: number | null; nextUnused: { index: number; address: string } }[];
  readonly addresses: readonly { branch: number; index: number; total: number }[];
}

async function ask<T>(api: ApiClient, path: string): Promise<T> {
  const { status, body, text } = await post<T>(api, path, { descriptor, gapLimit: GAP });
  if (status !== 200) throw new Error(text);
  return body;
}

async function all<T>(api: ApiClient, first: string): Promise<T[]> {
  const items: T[] = [];
  for (let path: string | null = first; path; ) {
    const page: Page<T> = await ask<Page<T>>(api, path);
    items.push(...page.items);
    path = page.next;
  }
  return items;
}

/** Compares all replies with a model that adds up the blocks, and with a scan of the UTXO set. */
async function compare(api: ApiClient, chain: RegtestChain, waiting: readonly Transaction[]): Promise<Summary> {
  const blocks = chain.blocks.map(({ raw }) => raw);
  const model = new ChainModel(blocks, waiting);
  const used = model.scripts.filter((script) => places.has(script));
  const balances = used.map((script) => model.balance(script) as Record<string, number>);
  const summary = await ask<Summary>(api, '/api/xpub');
  const members = Object.keys(balances[0]!);
  const sums = members.map((member) => [member, balances.reduce((sum, balance) => sum + balance[member]!, 0)]);
  expect(summary).toMatchObject({ ...Object.fromEntries(sums), tip: model.tip, usedCount: used.length });
  for (const [branch, { lastUsedIndex, nextUnused }] of summary.branches.entries()) {
    const indexes = used.map((script) => places.get(script)!).filter((place) => place.branch === branch);
    const last = Math.max(...indexes.map(({ index }) => index));
    expect([lastUsedIndex, nextUnused.index]).toEqual([last, last + 1]);
    expect(nextUnused.address).toBe(account.addressAt(branch, last + 1));
  }
  const owned = (scripts: readonly { script: string }[]) => scripts.some(({ script }) => places.has(script));
  const txs = [...model.txs.values()].filter(({ outputs, spends }) => owned(outputs) || owned(spends));
  expect(summary.txCount).toBe(txs.filter(({ place }) => place).length);
  expect(summary.mempoolTxCount).toBe(txs.filter(({ place }) => !place).length);
  const newest = await all<AddressTx>(api, '/api/xpub/txs?limit=3');
  const oldest = await all<AddressTx>(api, '/api/xpub/txs?limit=4&order=asc');
  expect(oldest.map(({ txid }) => txid)).toEqual(txs.map(({ txid }) => txid));
  expect(newest).toEqual(oldest.toReversed());
  const total = newest.reduce((sum, { received, sent }) => sum + received - sent, 0);
  expect(total).toBe(balances.reduce((sum, balance) => sum + balance.total!, 0));
  for (const confirmed of [false, true]) {
    const utxos = await all<Utxo>(api, `/api/xpub/utxos?limit=2&confirmed=${confirmed}`);
    const lines = utxos.map(({ txid, vout, value, height }) => `${txid}:${vout} ${value} ${height}`);
    expect(lines.sort()).toEqual(used.flatMap((script) => model.utxos(script, confirmed)).sort());
  }
  const scanned = await api.rpc<{ total_amount: number; unspents: object[] }>('scantxoutset', [
    'start',
    [{ desc: descriptor, range: DEPTH - 1 }],
  ]);
  expect(summary).toMatchObject({ utxoCount: scanned.unspents.length });
  expect((summary as unknown as { confirmed: number }).confirmed).toBe(Math.round(scanned.total_amount * 1e8));
  return summary;
}

describe('a descriptor agrees with the sum of the blocks', () => {
  const base = recentChain(110);
  const pay = (height: number, ...to: readonly Uint8Array[]) =>
    spend(
      base.coin(height),
      to.map((script, i) => ({ to: script, value: BigInt(i + 1) * 1_0000_0000n })),
    );
  const [receive, change] = [0, 1].map((branch) => (index: number) => account.scriptAt(branch, index));
  const first = pay(1, receive!(0), receive!(3), change!(0));
  base.mine(1, { txs: [first] });
  const stale = base.fork();
  const winner = base.fork();
  const lost = pay(2, receive!(7), change!(4));
  const both = spend(coinOf(first, 0), [{ to: receive!(20), value: 9999_0000n }]);
  stale.mine(1, { txs: [both, lost] });
  stale.mine(1, { to: receive!(8) });
  const double = sweep(base.coin(2), 'p2tr', 5000n);
  winner.mine(2);
  winner.mine(1, { txs: [double] });
  extend(winner, 2, 2);
  // The mempool itself moves the gap: each index is found by means of the one before.
  const far = spend(coinOf(first, 1), [{ to: receive!(40), value: 1_9999_0000n }]);
  const further = spend(coinOf(far, 0), [
    { to: receive!(60), value: 5000_0000n },
    { to: lockOf('p2tr'), value: 1_0000_0000n },
    { to: change!(18), value: 4998_0000n },
  ]);
  const furthest = sweep(coinOf(further, 0), receive!(80));
  let node: NodeProcess;
  let api: ApiClient;
  beforeAll(async () => {
    node = await nodeWith(stale);
    api = node.api;
  });

  test('with an empty mempool', async () => {
    const { branches } = await compare(api, stale, []);
    expect(branches.map(({ lastUsedIndex }) => lastUsedIndex)).toEqual([20, 4]);
  });

  test('with transactions in the mempool', async () => {
    await broadcast(api, far);
    expect((await compare(api, stale, [far])).branches[0]!.lastUsedIndex).toBe(40);
    await broadcast(api, further);
    await broadcast(api, furthest);
    const { branches } = await compare(api, stale, [far, further, furthest]);
    expect(branches.map(({ lastUsedIndex }) => lastUsedIndex)).toEqual([80, 18]);
  });

  test('after a reorg that removes receipts, and ends the pages behind it', async () => {
    const { next } = await ask<Page<AddressTx>>(api, '/api/xpub/txs?limit=1&confirmed=true');
    for (const block of winner.blocks.slice(base.height + 1)) await submit(api, block);
    const gone = await post<ErrorBody>(api, next!, { descriptor, gapLimit: GAP });
    expect([gone.status, gone.body.error.code]).toEqual([409, 'cursor_reorged']);
    // The payment of both branches returns to the mempool, behind those that have been there.
    const { items } = await api.json<{ items: string[] }>('/api/mempool/txids');
    const known = new Map([far, further, furthest, both, lost].map((tx) => [idOf(tx), tx]));
    expect(items).toContain(idOf(both));
    expect(items).not.toContain(idOf(lost));
    await compare(
      api,
      winner,
      items.flatMap((txid) => known.get(txid) ?? []),
    );
    winner.mine(1, { txs: [both, far, further, furthest] });
    await submit(api, winner.tip);
    const { branches } = await compare(api, winner, []);
    expect(branches.map(({ lastUsedIndex }) => lastUsedIndex)).toEqual([80, 18]);
  });

  test('and leaves no trace in logs, files or metrics, nor does a refused private key', async () => {
    const secret = account.privateText;
    for (const text of [secret, `wpkh(${secret}/0/*)`, `wpkh(${account.publicText}`])
      expect((await post(api, '/api/xpub', { descriptor: text })).status).toBe(400);
    const metrics = await api.request('/metrics');
    expect(metrics.text).toContain('/api/xpub');
    const { items } = await api.json<{ items: object[] }>('/api/audit');
    const shown = [metrics.text, JSON.stringify(items), node.stdout, node.stderr, ...filesOf(node.datadir)];
    expect(shown.length).toBeGreaterThan(8);
    for (const text of shown)
      for (const part of [secret.slice(20, 40), account.publicText.slice(20, 40)]) expect(text).not.toContain(part);
  });
});

/** The contents of all files of a folder and of the folders in it, as text. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
}
