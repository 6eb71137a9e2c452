import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { issueKey } from '../../src/auth/issue-key.ts';
import { type WatchChange, WatchStore } from '../../src/feed/watch-store.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { addressOf } from '../../src/script/address.ts';
import { addedChange, KEY, LiveChain } from '../feed/live-chain.ts';
import { BEARER, startTestApi } from '../lib/api-fixture.ts';
import { chainWithCoins, type RegtestChain } from '../lib/chain-builder.ts';
import { lockOf, madeUpCoin, spend } from '../lib/tx-builder.ts';
import { type Message, WsClient } from './ws-client.ts';

const ALICE = lockOf('p2wpkh', 101);
const BOB = lockOf('p2tr', 102);
const [alice, bob] = [ALICE, BOB].map(({ scriptPubKey }) => addressOf(scriptPubKey, regtest.address)!) as [
  string,
  string,
];
const idOf = (tx: Transaction) => hashToHex(txidOf(tx));
const chain = chainWithCoins(10);
const coin = (n: number) => chain.coin(n);
const payTo = (n: number, to: typeof ALICE) => spend(coin(n), [{ to, value: 1_0000_0000n }]);

interface Page {
  items: Message[];
  lastSeq: number;
}

async function withChain(run: (it: LiveChain, mined: RegtestChain) => Promise<void>): Promise<void> {
  await using it = await LiveChain.start(chain.blocks.slice(1));
  await run(it, chain.fork());
}

async function store(it: LiveChain, request: object, headers: Record<string, string> = KEY): Promise<string> {
  const response = await it.get('/api/watches', { method: 'POST', headers, body: JSON.stringify(request) });
  const body = (await response.json()) as { id: string };
  if (response.status !== 200) throw new Error(JSON.stringify(body));
  return body.id;
}

async function remove(it: LiveChain, id: string): Promise<void> {
  expect((await it.get(`/api/watches/${id}`, { method: 'DELETE' })).status).toBe(200);
}

const isDerived = ({ type }: Message) => type === 'addressTransaction' || type === 'confirmation';

async function derived(client: WsClient, count: number): Promise<Message[]> {
  while (client.received.filter(isDerived).length < count) await client.until(client.received.length + 1);
  return (await client.events()).filter(isDerived);
}

const summary = ({ data }: Message) => [data.phase ?? data.threshold, data.txid, data.watchId];

function newKey(it: LiveChain): { headers: Record<string, string>; id: string } {
  const { key, record } = issueKey(it.api.auth.store!, { label: '', scopes: ['read'] }, 1);
  it.api.auth.keysChanged();
  return { headers: { authorization: `Bearer ${key}` }, id: record.id };
}

describe('what is stored for a key', () => {
  test('notifies all connections of its key, present and future, and no others', () =>
    withChain(async (it, mined) => {
      using before = await it.client();
      using foreign = await it.client(newKey(it).headers);
      const id = await store(it, { kind: 'address', value: alice, confirmations: [0, 1, 2] });
      using after = await it.client();
      const tx = payTo(1, ALICE);
      it.added(tx, [coin(1)]);
      await it.take(mined.mine(1, { txs: [tx] }), mined.mine());
      const txid = idOf(tx);
      const expected = ['mempool', 0, 'confirmed', 1, 2].map((what) => [what, txid, id]);
      for (const client of [before, after]) expect((await derived(client, 5)).map(summary)).toEqual(expected);
      await foreign.next(({ data }) => data.height === 111);
      expect((await foreign.events()).filter(isDerived)).toEqual([]);
      expect((await after.ask('status')).data).toMatchObject({ watched: 0, stored: 1 });
      expect((await foreign.ask('status')).data).toMatchObject({
        stored: 0,
        events: ['newBlock', 'newTransaction', 'mempoolUpdate'],
      });
    }));

  test('holds for scripts, transactions and outpoints', () =>
    withChain(async (it, mined) => {
      const [first, second] = [payTo(1, BOB), payTo(2, BOB)];
      const outpoint = `${hashToHex(coin(2).outpoint.txid)}:0`;
      const ids = [
        await store(it, { kind: 'tx', value: idOf(first) }),
        await store(it, { kind: 'outpoint', value: outpoint, confirmations: [1] }),
        await store(it, { kind: 'script', value: ALICE.scriptPubKey.toHex() }),
      ];
      using client = await it.client();
      const third = payTo(3, ALICE);
      await it.take(mined.mine(1, { txs: [first, second, third] }));
      const messages = await derived(client, 3);
      expect(messages.map(summary)).toEqual([
        [1, idOf(first), ids[0]],
        [1, idOf(second), ids[1]],
        ['confirmed', idOf(third), ids[2]],
      ]);
      expect(messages.map(({ data }) => data.address)).toEqual([null, null, alice]);
    }));

  test('holds from the next event on, and ends with the next one', () =>
    withChain(async (it, mined) => {
      using client = await it.client();
      const [first, second, third] = [payTo(1, ALICE), payTo(2, ALICE), payTo(3, ALICE)];
      it.added(first, [coin(1)]);
      await client.next(({ data }) => data.txid === idOf(first));
      const id = await store(it, { kind: 'address', value: alice });
      it.added(second, [coin(2)]);
      expect((await derived(client, 1)).map(summary)).toEqual([['mempool', idOf(second), id]]);
      await remove(it, id);
      it.added(third, [coin(3)]);
      await it.take(mined.mine(1, { txs: [first, second, third] }));
      await client.next(({ data }) => data.height === 110);
      expect((await client.events()).filter(isDerived).length).toBe(1);
    }));

  test('and watched by the connection as well is reported once, at the thresholds of both', () =>
    withChain(async (it, mined) => {
      const id = await store(it, { kind: 'address', value: alice, confirmations: [0, 2] });
      using client = await it.client();
      await client.ask('watch', { addresses: [alice, bob], confirmations: [1] });
      const tx = spend(coin(1), [
        { to: ALICE, value: 1n },
        { to: BOB, value: 1n },
      ]);
      it.added(tx, [coin(1)]);
      await it.take(mined.mine(1, { txs: [tx] }), mined.mine());
      const messages = await derived(client, 8);
      expect(messages.map(({ data }) => [data.address, data.phase ?? data.threshold, data.watchId])).toEqual([
        [alice, 'mempool', id],
        [alice, 0, id],
        [bob, 'mempool', null],
        [alice, 'confirmed', id],
        [alice, 1, id],
        [bob, 'confirmed', null],
        [bob, 1, null],
        [alice, 2, id],
      ]);
      // The snapshot has the same name.
      await client.ask('watch', { addresses: [alice], snapshot: true });
      const stands = await client.next(({ data }) => data.snapshot === true);
      expect(stands.data).toMatchObject({ txid: idOf(tx), watchId: id });
      const places = messages.map(({ data }) => `${data.seq} ${data.sub}`);
      expect(new Set(places).size).toBe(8);
      // Unsubscribing ends the watch of the connection, but not the stored one.
      expect((await client.ask('unwatch', { all: true })).data).toEqual({ count: 2, total: 0 });
      const more = payTo(2, ALICE);
      it.added(more, [coin(2)]);
      expect((await derived(client, 12)).slice(10).map(summary)).toEqual([
        ['mempool', idOf(more), id],
        [0, idOf(more), id],
      ]);
    }));

  test('is not reported to a connection that unsubscribed', () =>
    withChain(async (it, mined) => {
      using strict = await it.client();
      await strict.ask('subscribe', { events: ['newBlock'], replace: true });
      using partly = await it.client();
      await partly.ask('unsubscribe', { events: ['confirmation'] });
      await store(it, { kind: 'address', value: alice, confirmations: [1] });
      const tx = payTo(1, ALICE);
      await it.take(mined.mine(1, { txs: [tx] }));
      expect((await derived(partly, 1)).map(({ type }) => type)).toEqual(['addressTransaction']);
      await strict.next(({ data }) => data.height === 110);
      expect((await strict.events()).filter(isDerived)).toEqual([]);
      await strict.ask('subscribe', { events: ['confirmation'] });
      await it.take(mined.mine(1, { txs: [payTo(2, ALICE)] }));
      expect((await derived(strict, 1)).map(({ type }) => type)).toEqual(['confirmation']);
    }));

  test('limits newTransaction as well where that is asked for', () =>
    withChain(async (it) => {
      await store(it, { kind: 'address', value: alice });
      using client = await it.client();
      await client.ask('filter', { onlyWatched: true });
      for (const [n, to] of [
        [1, BOB],
        [2, ALICE],
      ] as const)
        it.added(payTo(n, to), [coin(n)]);
      await derived(client, 1);
      const heard = (await client.events()).filter(({ type }) => type === 'newTransaction');
      expect(heard.map(({ data }) => data.txid)).toEqual([idOf(payTo(2, ALICE))]);
    }));

  test('ends with the key, which closes its connections', () =>
    withChain(async (it) => {
      const { headers, id } = newKey(it);
      await store(it, { kind: 'address', value: alice }, headers);
      using client = await it.client(headers);
      it.api.auth.store!.revokeKey(id, 2);
      it.api.auth.keysChanged();
      expect((await client.closed).code).toBe(4001);
      while (it.api.context.watches.total > 0) await Bun.sleep(2);
    }));
});

describe('what happened before', () => {
  test('is included in a resume, even if it was stored since', () =>
    withChain(async (it, mined) => {
      const start = it.lastSeq;
      const tx = payTo(1, ALICE);
      // Another client has caused all of it to be derived before.
      using other = await it.client();
      await other.ask('watch', { addresses: [bob], confirmations: [0, 1, 2] });
      it.added(tx, [coin(1)]);
      await it.take(mined.mine(1, { txs: [tx] }), mined.mine());
      await other.next(({ data }) => data.height === 111);
      const id = await store(it, { kind: 'address', value: alice, confirmations: [1, 2] });
      using client = await it.client();
      await client.ask('resume', { after: start });
      expect((await derived(client, 4)).map(summary)).toEqual(
        ['mempool', 'confirmed', 1, 2].map((what) => [what, idOf(tx), id]),
      );
    }));

  test('GET /api/events lists the messages of the WebSocket, for every page size', () =>
    withChain(async (it, mined) => {
      const start = it.lastSeq;
      await store(it, { kind: 'address', value: alice, confirmations: [0, 1, 2] });
      await store(it, { kind: 'address', value: bob, confirmations: [1] });
      using client = await it.client();
      await client.ask('subscribe', { events: ['blockDisconnected', 'reorg', 'transactionRemoved'] });
      const txs = [1, 2, 3, 4].map((n) => payTo(n, n % 2 ? ALICE : BOB));
      for (const [i, tx] of txs.entries()) it.added(tx, [coin(i + 1)]);
      it.removed(txs[3]!, 'expiry');
      const branch = mined.fork();
      await it.take(mined.mine(1, { txs: txs.slice(0, 3) }), mined.mine());
      branch.mine(1, { txs: [txs[1]!] });
      branch.mine(2);
      await it.take(...branch.blocks.slice(110));
      const last = it.updated();
      await client.next(({ data }) => data.seq === last);
      const live = await client.events();
      expect(live.filter(isDerived).length).toBeGreaterThan(15);
      const types = [...new Set(live.map(({ type }) => type))].join();
      for (const limit of [1, 2, 5, 5000]) {
        const items: Message[] = [];
        let at = start;
        while (at < last) {
          const response = await it.get(`/api/events?after=${at}&limit=${limit}&types=${types}`);
          const page = (await response.json()) as Page;
          expect(page.lastSeq).toBeGreaterThan(at);
          items.push(...page.items);
          at = page.lastSeq;
        }
        expect(items).toEqual(live);
      }
      const withoutSub = ({ type, data: { sub, ...data } }: Message) => ({ type, data });
      // Without types there are the default three, and what is watched.
      const usual = ['newBlock', 'newTransaction', 'mempoolUpdate', 'addressTransaction', 'confirmation'];
      const plain = (await (await it.get(`/api/events?after=${start}`)).json()) as Page;
      expect(plain.items).toEqual(live.filter(({ type }) => usual.includes(type)));
      const some = (await (await it.get(`/api/events?after=${start}&types=confirmation`)).json()) as Page;
      expect(some.items.map(withoutSub)).toEqual(live.filter(({ type }) => type === 'confirmation').map(withoutSub));
      const foreign = await it.get(`/api/events?after=${start}`, { headers: newKey(it).headers });
      expect(((await foreign.json()) as Page).items.filter(isDerived)).toEqual([]);
    }));

  test('a waiting request includes watches that are stored meanwhile', () =>
    withChain(async (it) => {
      const { listeners } = it.api.context.events;
      const waiting = it.get('/api/events?wait=60&types=addressTransaction');
      while (it.api.context.events.listeners === listeners) await Bun.sleep(2);
      const id = await store(it, { kind: 'address', value: alice });
      it.added(payTo(1, BOB), [coin(1)]);
      it.added(payTo(2, ALICE), [coin(2)]);
      const { items } = (await (await waiting).json()) as Page;
      expect(items.map(summary)).toEqual([['mempool', idOf(payTo(2, ALICE)), id]]);
    }));
});

test('an event waits until all that is stored is known', async () => {
  await using it = startTestApi({ attached: false, plugins: [(context) => restRoutes(context)] });
  const rows = new WatchStore(join(it.dir, 'watches.db'));
  const row = (n: number, target: string): WatchChange => ({
    id: n.toString(2).padStart(16, 'a').replaceAll('0', 'b').replaceAll('1', 'c'),
    kind: target.startsWith('t') ? 'tx' : 'address',
    value: target.startsWith('t') ? target.slice(1) : alice,
    target,
    confirmations: [0],
    label: null,
    createdAt: 1,
    given: { confirmations: true, label: true },
  });
  rows.upsert(
    'static',
    Array.from({ length: 30_000 }, (_, n) => row(n, `t${n.toString(16).padStart(64, '0')}`)),
  );
  const { id } = rows.upsert('static', [row(40_000, `s${ALICE.scriptPubKey.toHex()}`)])[0]!;
  rows.close();
  it.attach();
  using client = new WsClient(it.api.url, { headers: BEARER });
  await client.opened;
  expect(it.api.context.watches.isLoaded).toBe(false);
  const from = madeUpCoin('p2wpkh', 5_0000_0000n);
  const tx = spend(from, [{ to: ALICE, value: 1_0000_0000n }]);
  it.api.context.events.append([addedChange(it.node.takeSeq(), tx, [from])]);
  expect((await derived(client, 2)).map(summary)).toEqual([
    ['mempool', idOf(tx), id],
    [0, idOf(tx), id],
  ]);
});
