import { describe, expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import { addressOf } from '../../src/script/address.ts';
import { LiveChain } from '../feed/live-chain.ts';
import { chainWithCoins, type RegtestChain } from '../lib/chain-builder.ts';
import { coinOf, lockOf, spend } from '../lib/tx-builder.ts';
import type { Message, WsClient } from './ws-client.ts';

const ALICE = lockOf('p2wpkh', 101);
const BOB = lockOf('p2tr', 102);
const addressOfLock = ({ scriptPubKey }: { scriptPubKey: Uint8Array }) => addressOf(scriptPubKey, regtest.address)!;
const idOf = (tx: Transaction) => hashToHex(txidOf(tx));
const hashOf = (block: { hash: Uint8Array }) => hashToHex(block.hash);
const chain = chainWithCoins(10);
const coin = (n: number) => chain.coin(n);

/** The type and the rest, without what every event carries. */
function short({ type, data }: Message): Record<string, unknown> {
  const { cursor, seq, sub, time, watchId, outpoint, ...rest } = data;
  return { type, ...rest };
}

async function derived(client: WsClient, count: number): Promise<Message[]> {
  const is = ({ type }: Message) => type === 'addressTransaction' || type === 'confirmation';
  while (client.received.filter(is).length < count) await client.until(client.received.length + 1);
  return (await client.events()).filter(is);
}

/** In order, and no number of an event twice. */
function expectOrder(messages: readonly Message[]): void {
  const at = messages.map(({ data }) => [data.seq as number, (data.sub as number | undefined) ?? 0] as const);
  expect(at).toEqual(at.toSorted(([a, x], [b, y]) => a - b || x - y));
  expect(new Set(at.map(String)).size).toBe(at.length);
}

async function withChain(run: (it: LiveChain, mined: RegtestChain) => Promise<void>): Promise<void> {
  await using it = await LiveChain.start(chain.blocks.slice(1));
  await run(it, chain.fork());
}

describe('an address that is watched', () => {
  test('reports a transaction from the mempool to its block and back', () =>
    withChain(async (it, mined) => {
      const tx = spend(coin(1), [
        { to: BOB, value: 10_0000_0000n },
        { to: ALICE, value: 20_0000_0000n },
        { to: ALICE, value: 5_0000_0000n },
      ]);
      using client = await it.client();
      const ack = await client.ask('watch', { addresses: [addressOfLock(ALICE)], confirmations: [2, 0, 1] });
      expect(ack).toMatchObject({ type: 'ack', data: { count: 1, total: 1 } });
      const added = it.added(tx, [coin(1)]);
      const block = mined.mine(1, { txs: [tx] });
      await it.take(block);
      it.removed(tx, 'block');
      const next = mined.mine();
      await it.take(next);
      const messages = await derived(client, 5);
      const touch = {
        address: addressOfLock(ALICE),
        txid: idOf(tx),
        received: 25_0000_0000,
        sent: 0,
        outputs: [
          { n: 1, value: 20_0000_0000 },
          { n: 2, value: 5_0000_0000 },
        ],
        inputs: [],
      };
      const none = { blockHash: null, blockHeight: null, blockIndex: null, blockTime: null };
      const place = { blockHash: hashOf(block), blockHeight: 110, blockIndex: 1, blockTime: block.time };
      const reached = {
        ...{ type: 'confirmation', txid: idOf(tx), address: addressOfLock(ALICE), reverted: false },
        ...{ received: 25_0000_0000, sent: 0 },
      };
      expect(messages.map(short)).toEqual([
        {
          type: 'addressTransaction',
          ...touch,
          phase: 'mempool',
          status: { confirmed: false, ...none, confirmations: 0 },
        },
        { ...reached, confirmations: 0, threshold: 0, blockHash: null, height: null },
        {
          type: 'addressTransaction',
          ...touch,
          phase: 'confirmed',
          status: { confirmed: true, ...place, confirmations: 1 },
        },
        { ...reached, confirmations: 1, threshold: 1, blockHash: hashOf(block), height: 110 },
        { ...reached, confirmations: 2, threshold: 2, blockHash: hashOf(block), height: 110 },
      ]);
      expect(messages[0]!.data).toMatchObject({ seq: added, time: 1_700_000_001, watchId: null });
      expect(Object.keys(messages[2]!.data)).toEqual([
        'cursor',
        'seq',
        'sub',
        'time',
        'address',
        'txid',
        'status',
        'received',
        'sent',
        'outputs',
        'inputs',
        'phase',
        'watchId',
      ]);
      expectOrder(await client.events());
      const types = (await client.events()).map(({ type }) => type);
      expect(types).toEqual([
        'newTransaction',
        'addressTransaction',
        'confirmation',
        'newBlock',
        'addressTransaction',
        'confirmation',
        'newBlock',
        'confirmation',
      ]);
    }));

  test('reports a reorg with the disconnected and the reconnected transactions', () =>
    withChain(async (it, mined) => {
      const tx = spend(coin(1), [{ to: ALICE, value: 1_0000_0000n }]);
      const branch = mined.fork();
      const first = mined.mine(1, { txs: [tx] });
      const second = mined.mine();
      await it.take(first, second);
      using client = await it.client();
      await client.ask('watch', { addresses: [addressOfLock(ALICE)], confirmations: [1, 2] });
      branch.mine();
      const again = branch.mine(1, { txs: [tx] });
      branch.mine(1);
      await it.take(...branch.blocks.slice(110));
      const messages = await derived(client, 6);
      expect(
        messages.map(({ data }) => [
          data.phase ?? [data.threshold, data.confirmations, data.reverted],
          (data.status as { blockHash: string } | undefined)?.blockHash ?? data.blockHash ?? null,
        ]),
      ).toEqual([
        // The block above is taken back first: two confirmations become one, then none.
        [[2, 1, true], hashOf(first)],
        ['reverted', null],
        [[1, 0, true], hashOf(first)],
        ['confirmed', hashOf(again)],
        [[1, 1, false], hashOf(again)],
        [[2, 2, false], hashOf(again)],
      ]);
      expectOrder(messages);
    }));

  test('reports a transaction that leaves the mempool for good', () =>
    withChain(async (it) => {
      const tx = spend(coin(1), [{ to: ALICE, value: 1_0000_0000n }]);
      using client = await it.client();
      await client.ask('watch', { scripts: [ALICE.scriptPubKey.toHex()], confirmations: [0] });
      it.added(tx, [coin(1)]);
      it.removed(tx, 'replaced');
      const messages = await derived(client, 4);
      expect(messages.map(({ data }) => data.phase ?? [data.threshold, data.reverted])).toEqual([
        'mempool',
        [0, false],
        'removed',
        [0, true],
      ]);
      expect(messages[2]!.data).toMatchObject({ address: addressOfLock(ALICE), received: 1_0000_0000 });
    }));

  test('reports a large transaction, which a worker matches', () =>
    withChain(async (it) => {
      const tx = spend(
        coin(1),
        Array.from({ length: 500 }, () => ({ to: ALICE, value: 1000n })),
      );
      using client = await it.client();
      using other = await it.client();
      await client.ask('watch', { addresses: [addressOfLock(ALICE)] });
      await other.ask('watch', { addresses: [addressOfLock(BOB)] });
      it.added(tx, [coin(1)]);
      it.removed(tx, 'expiry');
      const messages = await derived(client, 2);
      expect(messages.map(({ data }) => [data.phase, data.received])).toEqual([
        ['mempool', 500_000],
        ['removed', 500_000],
      ]);
      expect(messages[0]!.data.outputs).toHaveLength(500);
    }));

  test('reports the inputs that spend from it', () =>
    withChain(async (it, mined) => {
      const pays = spend(coin(1), [{ to: ALICE, value: 3_0000_0000n }]);
      const spends = spend([coin(2), coinOf(pays, 0)], [{ to: BOB, value: 1_0000_0000n }]);
      using client = await it.client();
      await client.ask('watch', { addresses: [addressOfLock(ALICE)] });
      it.added(pays, [coin(1)]);
      it.added(spends, [coin(2), coinOf(pays, 0)]);
      await it.take(mined.mine(1, { txs: [pays, spends] }));
      const messages = await derived(client, 4);
      const spent = {
        sent: 3_0000_0000,
        received: 0,
        inputs: [{ n: 1, txid: idOf(pays), vout: 0, value: 3_0000_0000 }],
      };
      expect(messages.map(({ data }) => data.txid)).toEqual([pays, spends, pays, spends].map(idOf));
      expect(messages[1]!.data).toMatchObject(spent);
      expect(messages[3]!.data).toMatchObject({ ...spent, phase: 'confirmed' });
    }));
});

describe('transactions and outpoints that are watched', () => {
  test('report their confirmations', () =>
    withChain(async (it, mined) => {
      const tx = spend(coin(1), [{ to: BOB, value: 1n }]);
      const other = spend(coin(2), [{ to: BOB, value: 1n }]);
      using client = await it.client();
      const outpoint = `${hashToHex(coin(2).outpoint.txid)}:0`;
      await client.ask('watch', { txids: [idOf(tx).toUpperCase()] });
      await client.ask('watch', { outpoints: [outpoint], confirmations: [1] });
      it.added(tx, [coin(1)]);
      it.added(other, [coin(2)]);
      await it.take(mined.mine(1, { txs: [tx, other] }));
      const messages = await derived(client, 3);
      expect(messages.map(({ data }) => [data.txid, data.threshold, data.address, data.outpoint])).toEqual([
        [idOf(tx), 0, null, null],
        [idOf(tx), 1, null, null],
        [idOf(other), 1, null, outpoint],
      ]);
      expect(messages.map(({ data }) => [data.received, data.sent])).toEqual([
        [null, null],
        [null, null],
        [0, Number(coin(2).output.value)],
      ]);
    }));

  test('a snapshot shows the state before any event', () =>
    withChain(async (it, mined) => {
      const old = spend(coin(1), [{ to: ALICE, value: 1_0000_0000n }]);
      const fresh = spend(coin(2), [{ to: ALICE, value: 2_0000_0000n }]);
      await it.take(mined.mine(1, { txs: [old] }), mined.mine());
      it.added(fresh, [coin(2)]);
      using client = await it.client();
      const lists = { addresses: [addressOfLock(ALICE), addressOfLock(BOB)], txids: [idOf(old), '00'.repeat(32)] };
      client.send({ type: 'watch', id: 'w', data: { ...lists, confirmations: [1, 6], snapshot: true } });
      await client.until(4);
      const seq = it.lastSeq;
      await it.take(mined.mine());
      const messages = await derived(client, 3);
      expect(client.received[0]).toMatchObject({ id: 'w', type: 'ack', data: { count: 4, total: 4 } });
      expect(client.received.slice(1, 4).map(short)).toEqual([
        expect.objectContaining({ snapshot: true, txid: idOf(old), phase: 'confirmed', received: 1_0000_0000 }),
        expect.objectContaining({ snapshot: true, txid: idOf(old), confirmations: 2, threshold: 1, height: 110 }),
        expect.objectContaining({ snapshot: true, txid: idOf(fresh), phase: 'mempool', received: 2_0000_0000 }),
      ]);
      expect(messages.slice(0, 3).every(({ data }) => data.seq === undefined)).toBe(true);
      const block = await client.next(({ type }) => type === 'newBlock');
      expect(block.data.seq).toBeGreaterThan(seq);
    }));
});

describe('watching', () => {
  test('counts, ends with unwatch, and shows in the status', () =>
    withChain(async (it, mined) => {
      using client = await it.client();
      const [alice, bob] = [addressOfLock(ALICE), addressOfLock(BOB)];
      const counts = async (type: string, data: object) => (await client.ask(type, data)).data;
      expect(await counts('watch', { addresses: [alice, alice, bob] })).toEqual({ count: 2, total: 2 });
      expect(await counts('watch', { scripts: [ALICE.scriptPubKey.toHex()] })).toEqual({ count: 1, total: 2 });
      expect((await client.ask('status')).data).toMatchObject({
        watched: 2,
        events: ['newBlock', 'newTransaction', 'mempoolUpdate', 'addressTransaction', 'confirmation'],
      });
      expect(await counts('unwatch', { addresses: [bob] })).toEqual({ count: 1, total: 1 });
      expect(await counts('unwatch', { all: true })).toEqual({ count: 1, total: 0 });
      const tx = spend(coin(1), [{ to: ALICE, value: 1n }]);
      await it.take(mined.mine(1, { txs: [tx] }), mined.mine());
      await client.next(({ data }) => data.height === 111);
      expect((await client.events()).map(({ type }) => type)).toEqual(['newBlock', 'newBlock']);
    }));

  test('is not reported to a client that unsubscribed from it', () =>
    withChain(async (it, mined) => {
      using client = await it.client();
      await client.ask('watch', { addresses: [addressOfLock(ALICE)], confirmations: [1, 2] });
      await client.ask('unsubscribe', { events: ['addressTransaction', 'newBlock'] });
      const tx = spend(coin(1), [{ to: ALICE, value: 1n }]);
      await it.take(mined.mine(1, { txs: [tx] }), mined.mine());
      expect((await derived(client, 2)).map(({ data }) => data.threshold)).toEqual([1, 2]);
    }));

  test('what does not fit is refused whole, with a code', async () => {
    await using it = await LiveChain.start(chain.blocks.slice(1, 3), { limits: { wsWatched: 3, wsWatchedTotal: 4 } });
    using client = await it.client();
    const codes: unknown[] = [];
    const id = 'ab'.repeat(32);
    for (const data of [
      { addresses: ['1BoatSLRHtKNngkdXEeobR76b53LETtpyT'] },
      { addresses: ['bcrt1qqqqqq'] },
      { addresses: 'x' },
      { addresses: [1] },
      { scripts: ['xy'] },
      { txids: ['ab'] },
      { outpoints: [id] },
      { outpoints: [`${id}:4294967296`] },
      { txids: [id], confirmations: [-1] },
      { txids: [id], confirmations: [1001] },
      { txids: [id], confirmations: Array.from({ length: 11 }, (_, i) => i) },
      { txids: [id], snapshot: 1 },
    ]) {
      codes.push((await client.ask('watch', data)).data.code);
      await client.ask('ping');
    }
    const wrong = 'invalid_parameter';
    expect(codes).toEqual(['invalid_address', 'invalid_address', ...Array.from({ length: 10 }, () => wrong)]);
    const txids = (from: number, count: number) =>
      Array.from({ length: count }, (_, i) => (from + i).toString(16).padStart(64, '0'));
    expect((await client.ask('watch', { txids: txids(0, 4) })).data).toMatchObject({
      code: 'limit_exceeded',
      details: { limit: 3 },
    });
    expect((await client.ask('watch', { txids: txids(0, 3) })).data).toMatchObject({ total: 3 });
    using other = await it.client();
    expect((await other.ask('watch', { txids: txids(0, 2) })).data).toMatchObject({ details: { limit: 4 } });
    expect((await client.ask('unwatch', { all: 1 })).data).toMatchObject({ code: 'invalid_parameter' });
    client.socket.close();
    await client.closed;
    while ((await other.ask('watch', { txids: txids(0, 2) })).type !== 'ack') await Bun.sleep(1);
  });

  test('needs a key', async () => {
    await using it = await LiveChain.start(chain.blocks.slice(1, 3), { ws: { auth: 'public' } });
    using client = await it.client({});
    for (const type of ['watch', 'unwatch', 'filter', 'resume'])
      expect((await client.ask(type, { after: 0 })).data).toMatchObject({ code: 'insufficient_scope' });
  });

  test('a long list is processed in slices, and later messages wait for it', () =>
    withChain(async (it) => {
      using client = await it.client();
      const locks = Array.from({ length: 1000 }, (_, i) => addressOfLock({ scriptPubKey: longScript(i) }));
      client.send({ type: 'watch', id: 1, data: { addresses: locks } });
      client.send({ type: 'ping', id: 2 });
      client.send({ type: 'unwatch', id: 3, data: { addresses: locks } });
      client.send({ type: 'status', id: 4 });
      const messages = await client.until(4);
      expect(messages.map(({ id }) => id)).toEqual([1, 2, 3, 4]);
      expect(messages.map(({ data }) => data.total ?? data.watched)).toEqual([1000, undefined, 0, 0]);
    }));
});

function longScript(n: number): Uint8Array {
  const script = new Uint8Array(22);
  script.set([0x00, 0x14, n & 0xff, n >> 8]);
  return script;
}

describe('replay', () => {
  test('derives again what was derived, with the same cursors, also when other things are watched by then', () =>
    withChain(async (it, mined) => {
      const txs = [1, 2, 3].map((n) =>
        spend(coin(n), [
          { to: n === 2 ? BOB : ALICE, value: 1_0000_0000n },
          { to: BOB, value: 1_0000_0000n },
        ]),
      );
      using client = await it.client();
      const start = it.lastSeq;
      await client.ask('watch', { addresses: [addressOfLock(ALICE)], confirmations: [0, 1, 2] });
      for (const [i, tx] of txs.entries()) it.added(tx, [coin(i + 1)]);
      it.removed(txs[2]!, 'expiry');
      await it.take(mined.mine(1, { txs: txs.slice(0, 2) }), mined.mine());
      const live = await derived(client, 9);
      using again = await it.client();
      await again.ask('watch', { addresses: [BOB, ALICE].map(addressOfLock), confirmations: [0, 1, 2] });
      const ack = await again.ask('resume', { after: start });
      expect(ack.data).toEqual({ from: start + 1, to: it.lastSeq, gap: null });
      await again.next(({ data }) => data.seq === it.lastSeq && data.threshold === 2);
      const replayed = await again.events();
      expectOrder(replayed);
      const alice = replayed.filter(({ data }) => data.address === addressOfLock(ALICE));
      const withoutSub = ({ type, data: { sub, ...data } }: Message) => ({ type, data });
      expect(alice.map(withoutSub)).toEqual(live.map(withoutSub));
    }));

  test('behind a number sends what is derived from its event again, behind a cursor what comes after that', () =>
    withChain(async (it, mined) => {
      using client = await it.client();
      await client.ask('subscribe', { events: ['newBlock'], replace: true });
      await client.ask('watch', { addresses: [ALICE, BOB].map(addressOfLock), confirmations: [1] });
      const txs = [1, 2].map((n) => spend(coin(n), [{ to: n === 1 ? BOB : ALICE, value: 1_0000_0000n }]));
      await it.take(mined.mine(1, { txs }));
      const block = it.lastSeq;
      await it.take(mined.mine());
      await client.next(({ data }) => data.height === 111);
      const all = await client.events();
      expect(all.map(({ type, data }) => [type, data.seq, data.sub ?? 0])).toEqual([
        ['newBlock', block, 0],
        ['addressTransaction', block, 1],
        ['confirmation', block, 2],
        ['addressTransaction', block, 3],
        ['confirmation', block, 4],
        ['newBlock', block + 1, 0],
      ]);
      const replayed = async (after: unknown) => {
        using again = await it.client();
        await again.ask('watch', { addresses: [ALICE, BOB].map(addressOfLock), confirmations: [1] });
        await again.ask('subscribe', {
          events: ['newBlock', 'addressTransaction', 'confirmation'],
          replace: true,
          after,
        });
        await again.next(({ data }) => data.height === 111);
        return await again.events();
      };
      expect(await replayed(block)).toEqual(all.slice(1));
      for (const [at, { data }] of all.slice(0, -1).entries()) {
        const rest = await replayed(data.cursor);
        expect(rest.map(({ data }) => data.cursor)).toEqual(all.slice(at + 1).map(({ data }) => data.cursor));
        // It counts what this connection is sent.
        expect(rest.flatMap(({ data }) => data.sub ?? [])).toEqual([1, 2, 3, 4].slice(0, Math.max(0, 4 - at)));
      }
    }));
});

describe('filter', () => {
  test('limits newTransaction to what is watched, and to a rate', () =>
    withChain(async (it) => {
      const rich = spend(coin(1), [{ to: BOB, value: 49_0000_0000n }]);
      const poor = spend(coin(2), [{ to: ALICE, value: coin(2).output.value - 100n }]);
      let last = 0;
      const heard = async (client: WsClient) => {
        await client.next(({ type, data }) => type === 'mempoolUpdate' && data.seq === last);
        return client.received.filter(({ type }) => type === 'newTransaction').map(({ data }) => data.txid);
      };
      using watched = await it.client();
      await watched.ask('watch', { addresses: [addressOfLock(ALICE)] });
      expect((await watched.ask('filter', { onlyWatched: true })).data).toEqual({ onlyWatched: true, minFeeRate: 0 });
      using paying = await it.client();
      await paying.ask('filter', { minFeeRate: 5 });
      using nothing = await it.client();
      await nothing.ask('filter', { onlyWatched: true });
      using all = await it.client();
      await all.ask('filter', { onlyWatched: true });
      await all.ask('filter', {});
      it.added(rich, [coin(1)]);
      it.added(poor, [coin(2)]);
      last = it.updated();
      expect(await heard(watched)).toEqual([idOf(poor)]);
      expect(await heard(paying)).toEqual([idOf(rich)]);
      expect(await heard(nothing)).toEqual([]);
      expect(await heard(all)).toEqual([idOf(rich), idOf(poor)]);
      for (const data of [{ onlyWatched: 1 }, { minFeeRate: -1 }, { minFeeRate: 'x' }])
        expect((await all.ask('filter', data)).data).toMatchObject({ code: 'invalid_parameter' });
    }));
});

describe('details', () => {
  test('full adds the bodies that REST gives', () =>
    withChain(async (it, mined) => {
      using client = await it.client();
      await client.ask('subscribe', { events: ['blockDisconnected'], details: 'full' });
      const tx = spend(coin(1), [{ to: ALICE, value: 1_0000_0000n }]);
      const branch = mined.fork();
      it.added(tx, [coin(1)]);
      const block = mined.mine(1, { txs: [tx] });
      await it.take(block);
      const child = spend(coinOf(tx, 0), [{ to: BOB, value: 1n }]);
      const [added, joined] = await client.until(3).then((all) => all.slice(1));
      it.added(child, [coinOf(tx, 0)]);
      const second = await client.next(({ data }) => data.txid === idOf(child));
      expect(second.data.tx).toMatchObject({
        vin: [{ prevout: { value: 1_0000_0000, height: null, isCoinbase: false } }],
      });
      expect(added).toMatchObject({
        type: 'newTransaction',
        data: { txid: idOf(tx), tx: { txid: idOf(tx), hex: expect.any(String) } },
      });
      const body = await (await it.get(`/api/block/${hashOf(block)}`)).json();
      expect(joined!.data.block).toEqual(body as never);
      branch.mine(2);
      await it.take(...branch.blocks.slice(110));
      const left = await client.next(({ type }) => type === 'blockDisconnected');
      expect(left.data.block).toMatchObject({ hash: hashOf(block), inActiveChain: false });
      await client.ask('subscribe', { events: [], details: 'summary' });
      await it.take(branch.mine());
      const plain = await client.next(({ data }) => data.height === 112);
      expect(plain.data.block).toBeUndefined();
    }));
});
