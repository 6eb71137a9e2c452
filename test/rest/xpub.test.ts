import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { type ApiFixture, startTestApi } from '../lib/chain-api.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { ALL_INDEXES, NO_INDEXES, TestNode } from '../lib/chain-fixture.ts';
import { ChainModel } from '../lib/chain-model.ts';
import { defaultReadSources } from '../lib/default-options.ts';
import { HdAccount } from '../lib/hd-account.ts';
import { coinOf, lockOf, spend } from '../lib/tx-builder.ts';

const chain = new RegtestChain({
  startTime: Math.floor(Date.now() / 1000) - 10_000,
  spacing: 60,
  to: lockOf('p2wpkh'),
});
const account = new HdAccount('account');
const { publicText: key, descriptor } = account;
const scriptAt = (branch: number, index: number) => account.scriptAt(branch, index);
const addressAt = (branch: number, index: number) => account.addressAt(branch, index);

chain.mine(103);
// The used indexes of the first branch have gaps of four and six; the last one is behind a gap of 20.
const fund = spend(chain.coin(1), [
  { to: scriptAt(0, 0), value: 10_0000_0000n },
  { to: scriptAt(0, 5), value: 20_0000_0000n },
  { to: scriptAt(0, 12), value: 5_0000_0000n },
  { to: scriptAt(0, 33), value: 1_0000_0000n },
]);
chain.mine(1, { txs: [fund] });
const move = spend(
  [coinOf(fund, 0), coinOf(fund, 1)],
  [
    { to: lockOf('p2tr'), value: 18_0000_0000n },
    { to: scriptAt(1, 2), value: 11_9999_0000n },
  ],
);
chain.mine(1, { txs: [move] });
chain.mine(1, { to: scriptAt(0, 12) });
const model = new ChainModel(chain.blocks.map(({ raw }) => raw));
const scripts = [scriptAt(0, 0), scriptAt(0, 5), scriptAt(0, 12), scriptAt(1, 2)].map((script) => script.toHex());

interface Summary {
  readonly txCount: number;
  readonly usedCount: number;
  readonly branches: readonly { lastUsedIndex: number | null; nextUnused: object | null; examinedCount: number }[];
  readonly addresses: readonly { address: string; branch: number; index: number }[];
}

describe('a descriptor', () => {
  let node: TestNode;
  let api: ApiFixture;
  beforeAll(async () => {
    node = new TestNode({ params: chain.params, indexes: ALL_INDEXES });
    await node.take(chain.blocks.slice(1));
    api = startTestApi(node.dir, {
      params: chain.params,
      sources: defaultReadSources(chain.params, { indexes: ALL_INDEXES }),
    });
  });
  afterAll(async () => {
    await api.close();
    await node[Symbol.asyncDispose]();
  });
  const ask = async <T>(path: string, body: object) => {
    const reply = await api.post(path, JSON.stringify(body));
    if (reply.status !== 200) throw new Error(await reply.text());
    return (await reply.json()) as T;
  };
  const sumOf = (member: string) =>
    scripts.reduce((sum, script) => sum + (model.balance(script) as Record<string, number>)[member]!, 0);

  test('has the sums of its used addresses, and the next unused ones', async () => {
    const reply = await api.post('/api/xpub', JSON.stringify({ descriptor }));
    expect(reply.headers.get('cache-control')).toBe('no-store');
    const summary = (await reply.json()) as Summary;
    const members = ['confirmed', 'total', 'immature', 'received', 'sent', 'utxoCount'];
    expect(summary).toMatchObject({
      ...Object.fromEntries(members.map((member) => [member, sumOf(member)])),
      tip: model.tip,
      gapLimit: 20,
      unconfirmed: 0,
      txCount: 3,
      mempoolTxCount: 0,
      usedCount: 4,
    });
    expect((summary as unknown as { descriptor: string }).descriptor).toStartWith(`${descriptor}#`);
    expect(summary.branches).toMatchObject([
      {
        branch: 0,
        usedCount: 3,
        lastUsedIndex: 12,
        examinedCount: 33,
        nextUnused: { address: addressAt(0, 13), branch: 0, index: 13 },
      },
      { branch: 1, usedCount: 1, lastUsedIndex: 2, examinedCount: 23, nextUnused: { address: addressAt(1, 3) } },
    ]);
    expect(summary.addresses.map(({ address, branch, index }) => [address, branch, index])).toEqual([
      [addressAt(0, 0), 0, 0],
      [addressAt(0, 5), 0, 5],
      [addressAt(0, 12), 0, 12],
      [addressAt(1, 2), 1, 2],
    ]);
    for (const [i, address] of summary.addresses.entries()) {
      const { confirmed, utxoCount } = model.balance(scripts[i]!) as { confirmed: number; utxoCount: number };
      expect(address as object).toMatchObject({ confirmed, utxoCount });
    }
  });

  test('is examined up to its gap limit', async () => {
    const near = await ask<Summary>('/api/xpub', { descriptor, gapLimit: 4 });
    expect(near.branches.map(({ lastUsedIndex }) => lastUsedIndex)).toEqual([0, 2]);
    const exact = await ask<Summary>('/api/xpub', { descriptor, gapLimit: 21 });
    expect(exact.branches.map(({ lastUsedIndex }) => lastUsedIndex)).toEqual([33, 2]);
    expect(exact.usedCount).toBe(5);
  });

  test('shows the addresses that are asked for', async () => {
    const count = async (query: string) =>
      (await ask<Summary>(`/api/xpub?addresses=${query}`, { descriptor })).addresses.length;
    expect([await count('none'), await count('funded'), await count('all')]).toEqual([0, 2, 33 + 23]);
  });

  test('may be a bare key, a single key, or a multisig', async () => {
    const bare = await ask<Summary>('/api/xpub', { descriptor: key });
    expect(bare).toMatchObject({ usedCount: 0, branches: [{ nextUnused: { index: 0 } }, { lastUsedIndex: null }] });
    const single = await ask<Summary>('/api/xpub', { descriptor: `wpkh(${key}/0/5)` });
    expect(single.branches).toMatchObject([{ isRange: false, usedCount: 1, lastUsedIndex: 0, nextUnused: null }]);
    const multi = { descriptor: `wsh(sortedmulti(1,${key}/<0;1>/*,${key}/<2;3>/*))`, gapLimit: 3 };
    expect((await ask<Summary>('/api/xpub', multi)).branches).toHaveLength(2);
    const combo = await ask<Summary>('/api/xpub', { descriptor: `combo(${key}/0/*)` });
    expect([combo.usedCount, combo.branches[0]!.lastUsedIndex]).toEqual([3, 12]);
  });

  test('has its transactions in pages, each once', async () => {
    for (const [order, expected] of [
      ['desc', [chain.at(106), null, null]],
      ['asc', [null, null, chain.at(106)]],
    ] as const) {
      const items: { txid: string; net: number; outputs: object[]; inputs: object[] }[] = [];
      for (let path: string | null = `/api/xpub/txs?limit=1&order=${order}`; path; ) {
        type Page = { items: typeof items; next: string | null; total: object };
        const page: Page = await ask<Page>(path, { descriptor });
        expect(page.total).toEqual({ confirmed: 3, mempool: 0 });
        expect(path).not.toContain(key.slice(0, 12));
        items.push(...page.items);
        path = page.next;
      }
      expect(items).toHaveLength(3);
      expect(expected.map((block) => block && hashToHex(block.parsed().txs[0]!.txid))).toEqual(
        expected.map((block, i) => block && items[i]!.txid),
      );
      const moved = items[1]!;
      expect(moved.net).toBe(11_9999_0000 - 30_0000_0000);
      expect(moved.inputs).toMatchObject([
        { address: addressAt(0, 0), branch: 0, index: 0, value: 10_0000_0000 },
        { address: addressAt(0, 5), branch: 0, index: 5, value: 20_0000_0000 },
      ]);
      expect(moved.outputs).toEqual([{ n: 1, value: 11_9999_0000, address: addressAt(1, 2), branch: 1, index: 2 }]);
    }
  });

  test('has its unspent outputs in pages', async () => {
    const found: string[] = [];
    for (let path: string | null = '/api/xpub/utxos?limit=1'; path; ) {
      type Item = { txid: string; vout: number; value: number; height: number; branch: number; index: number };
      type Page = { items: Item[]; next: string | null };
      const page: Page = await ask<Page>(path, { descriptor });
      found.push(...page.items.map(({ txid, vout, value, height }) => `${txid}:${vout} ${value} ${height}`));
      path = page.next;
    }
    expect(found.toSorted()).toEqual(scripts.flatMap((script) => model.utxos(script)).toSorted());
  });

  test('keeps the scripts of its first page while a later payment moves the gap', async () => {
    for (const kind of ['txs', 'utxos'] as const) {
      const grown = chain.fork();
      await using other = new TestNode({ params: chain.params, indexes: ALL_INDEXES });
      await other.take(grown.blocks.slice(1));
      const start = () =>
        startTestApi(other.dir, {
          params: chain.params,
          sources: defaultReadSources(chain.params, { indexes: ALL_INDEXES }),
        });
      let reader = start();
      type Item = { txid: string; vout?: number };
      type Page = { items: Item[]; next: string | null; total: { confirmed?: number; count?: number } };
      const page = async (path: string) =>
        (await (await reader.post(path, JSON.stringify({ descriptor }))).json()) as Page;
      const whole = await page(`/api/xpub/${kind}?order=asc`);
      const first = await page(`/api/xpub/${kind}?limit=1&order=asc`);
      // Index 33, which the first block pays, is behind the gap until index 15 is paid.
      grown.mine(1, { txs: [spend(chain.coin(2), [{ to: scriptAt(0, 15), value: 1_0000_0000n }])] });
      await reader.close();
      await other.take(grown.blocks.slice(chain.height + 1));
      reader = start();
      const items = [...first.items];
      for (let next = first.next; next; ) {
        const later: Page = await page(next);
        items.push(...later.items);
        next = later.next;
      }
      const names = (all: readonly Item[]) => all.map(({ txid, vout }) => `${txid}:${vout}`);
      const added = `${hashToHex(grown.tip.parsed().txs[1]!.txid)}:${kind === 'txs' ? undefined : 0}`;
      expect(names(items)).toEqual([...names(whole.items), added]);
      // A new walk has them all.
      const again = await page(`/api/xpub/${kind}?order=asc`);
      expect(again.items).toHaveLength(whole.items.length + (kind === 'txs' ? 1 : 2));
      await reader.close();
    }
  });

  test('costs as many calls as the keys that it derives at least', async () => {
    const scopes = { rate: { perSecond: 0.001, burst: 2000 } };
    const { key: limited } = await api.rpc<{ key: string }>('createapikey', 'slow', ['read'], scopes);
    const three = [0, 1, 2].map((branch) => `${key}/${branch}/<0;1;2;3>/*`).join(',');
    const costs: readonly [object, number][] = [
      [{ descriptor }, 1],
      [{ descriptor: key }, 1],
      [{ descriptor, gapLimit: 100 }, 2],
      [{ descriptor: `wpkh(${key}/0/5)`, gapLimit: 1000 }, 1],
      [{ descriptor: `wpkh(${key}/<0;1;2;3;4;5;6;7;8;9>/*)`, gapLimit: 100 }, 10],
      [{ descriptor: `wsh(sortedmulti(2,${three}))`, gapLimit: 100 }, 12],
      [{ descriptor: `combo(${key}/0/*)`, gapLimit: 100 }, 4],
    ];
    let left: number | null = null;
    const { unitsPerCall } = await api.json<{ unitsPerCall: { xpubKeys: number } }>('/api/config/limits');
    expect(unitsPerCall.xpubKeys).toBe(100);
    for (const [body, cost] of costs)
      for (const path of ['/api/xpub', '/api/xpub/txs', '/api/xpub/utxos']) {
        const reply = await api.post(path, JSON.stringify(body), { authorization: `Bearer ${limited}` });
        expect([path, body, reply.status]).toEqual([path, body, 200]);
        const remaining = Number(reply.headers.get('ratelimit-remaining'));
        if (left !== null) expect([path, body, left - remaining]).toEqual([path, body, cost]);
        left = remaining;
      }
  });

  test('is refused with a stable code, and without its text', async () => {
    const { nextCursor } = await ask<{ nextCursor: string }>('/api/xpub/txs?limit=1', { descriptor });
    const secret = account.privateText;
    // Ten branches of eleven keys.
    const keys = new Array(11).fill(`${key}/<0;1;2;3;4;5;6;7;8;9>/*`).join(',');
    const cases: readonly [string, object | string, string][] = [
      ['/api/xpub', { descriptor: secret, gapLimit: 0 }, 'private_key_refused'],
      ['/api/xpub/txs?limit=0', { descriptor: `pkh(${secret}/0/*)` }, 'private_key_refused'],
      ['/api/xpub', { descriptor: `wpkh(${key}` }, 'invalid_descriptor'],
      ['/api/xpub', { descriptor: 5 }, 'invalid_parameter'],
      ['/api/xpub', {}, 'invalid_parameter'],
      ['/api/xpub', { descriptor, gapLimit: 1001 }, 'invalid_parameter'],
      ['/api/xpub', { descriptor, gapLimit: 1.5 }, 'invalid_parameter'],
      ['/api/xpub', `{"descriptor":"${key}`, 'invalid_request'],
      ['/api/xpub', { descriptor: 'x'.repeat(40_000) }, 'payload_too_large'],
      ['/api/xpub?addresses=some', { descriptor }, 'invalid_parameter'],
      ['/api/xpub', { descriptor: `wsh(multi(1,${keys}))`, gapLimit: 1000 }, 'too_many_scripts'],
      [`/api/xpub/txs?cursor=${nextCursor}`, { descriptor, gapLimit: 21 }, 'invalid_cursor'],
      [`/api/xpub/txs?cursor=${nextCursor}`, { descriptor: key }, 'invalid_cursor'],
    ];
    for (const [path, body, code] of cases) {
      const reply = await api.post(path, typeof body === 'string' ? body : JSON.stringify(body));
      const text = await reply.text();
      expect([path, (JSON.parse(text) as { error: { code: string } }).error.code]).toEqual([path, code]);
      expect(text).not.toContain(secret.slice(4, 16));
      expect(text).not.toContain(key.slice(4, 16));
    }
  });

  test('needs the address index', async () => {
    const off = startTestApi(node.dir, {
      params: chain.params,
      sources: defaultReadSources(chain.params, { indexes: NO_INDEXES }),
    });
    const reply = await off.post('/api/xpub', JSON.stringify({ descriptor }));
    expect([reply.status, await reply.json()]).toMatchObject([501, { error: { code: 'feature_disabled' } }]);
    await off.close();
  });
});
