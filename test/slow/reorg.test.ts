import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import type { ApiClient, Balance, BlockBody, ErrorBody, Page, Tip, Utxo } from '../lib/node-client.ts';
import { cleanUpAfterTests, importFiles, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { extend, recentChain, scriptPath, scriptsOf, tipHash } from '../lib/sample-chains.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';

cleanUpAfterTests();

const FORK_HEIGHT = 110;
const STALE_BLOCKS = 10;
const NEW_BLOCKS = 12;
/** Paid in the common part and on both branches. */
const SHOP = lockOf('p2wpkh', 7);
/** Paid on the stale branch alone. */
const UNLUCKY = lockOf('p2tr', 7);

/** The common chain, ten blocks that lose and twelve that win. One payment is in both branches, at different heights. */
function buildBranches() {
  const base = recentChain(FORK_HEIGHT - 1, { payments: 5 });
  base.mine(1, { txs: [spend(base.coin(base.height - 99), [{ to: SHOP, value: 1_0000_0000n }])] });
  const reconfirmed = spend(base.coin(11), [{ to: SHOP, value: 7_0000_0000n }]);

  const stale = base.fork();
  const lost = spend(stale.coin(12), [
    { to: SHOP, value: 3_0000_0000n },
    { to: UNLUCKY, value: 4_0000_0000n },
  ]);
  stale.mine(2);
  stale.mine(1, { txs: [reconfirmed, lost] });
  extend(stale, STALE_BLOCKS - 3, 4);

  const winner = base.fork();
  winner.mine(1);
  winner.mine(1, { txs: [spend(winner.coin(12), [{ to: SHOP, value: 2_0000_0000n }])] });
  winner.mine(3);
  winner.mine(1, { txs: [reconfirmed] });
  extend(winner, NEW_BLOCKS - 6, 6);
  return { base, stale, winner, reconfirmed, lost };
}

/** Everything that clients see of a chain, but for the moment a block came in. */
async function everything(api: ApiClient, scripts: readonly string[]) {
  const withoutArrival = ({ receivedAt: _, ...block }: BlockBody & { receivedAt?: number }) => block;
  const { tip } = await api.json<Balance>(`/api/balance/script:${scripts[0]}`);
  const blocks = [];
  for (let height = 0; height <= tip.height; height++)
    blocks.push(withoutArrival(await api.json<BlockBody>(`/api/block-by-height/${height}`)));
  const owners: Record<string, unknown> = {};
  for (const script of scripts) {
    const path = `/api/address/script:${script}`;
    // Without the mempool: what was in the stale branch waits there for another block.
    owners[script] = {
      balance: confirmedPart(await api.json<Balance>(`/api/balance/script:${script}`)),
      txs: (await api.all(`${path}/txs?limit=37&confirmed=true`)).items,
      ascending: (await api.all(`${path}/txs?limit=41&order=asc&confirmed=true`)).items,
      utxos: (await api.all<{ spentInMempool: unknown }>(`${path}/utxos?limit=29&confirmed=true`)).items.map(
        ({ spentInMempool: _, ...utxo }) => utxo,
      ),
    };
  }
  const { software: _, ...listing } = await api.json<{ software: unknown }>('/api/listing');
  const { disk_size: __, ...coins } = await api.rpc<Record<string, unknown>>('gettxoutsetinfo', ['muhash']);
  const { hash_serialized_3: serialized } = await api.rpc<{ hash_serialized_3: string }>('gettxoutsetinfo');
  return { tip, blocks, owners, listing, coins, serialized };
}

function confirmedPart(balance: Balance) {
  const {
    unconfirmed: _,
    total: __,
    pendingReceived: ___,
    pendingSpent: ____,
    mempoolTxCount: _____,
    ...rest
  } = balance;
  return rest;
}

describe('a reorganization of ten blocks', () => {
  const { base, stale, winner, reconfirmed, lost } = buildBranches();
  const folder = tempDir();
  const files = {
    stale: join(folder, 'stale.dat'),
    branch: join(folder, 'branch.dat'),
    winner: join(folder, 'winner.dat'),
  };
  const scripts = [...new Set([...scriptsOf(stale, 1), ...scriptsOf(winner, 1)])].filter(
    (script) => !script.startsWith('6a'),
  );
  const staleTip: Tip = { height: FORK_HEIGHT + STALE_BLOCKS, hash: tipHash(stale) };
  const newTip: Tip = { height: FORK_HEIGHT + NEW_BLOCKS, hash: tipHash(winner) };
  const shop = scriptPath(SHOP);
  /** Pages that clients were reading before it happened. */
  const before: Record<string, Page<unknown>> = {};
  let seqBefore = 0;
  let node: NodeProcess;
  let other: NodeProcess;

  beforeAll(async () => {
    stale.writeBootstrap(files.stale);
    winner.writeBootstrap(files.branch, FORK_HEIGHT + 1);
    winner.writeBootstrap(files.winner);
    const datadir = tempDir();
    const early = await startNode({ datadir, args: ['--import', files.stale] });
    await early.height(staleTip.height);
    const { api } = early;
    before.newest = await api.json(`/api/address/${shop}/txs?limit=1`);
    before.oldest = await api.json(`/api/address/${shop}/txs?limit=1&order=asc`);
    before.unlucky = await api.json(`/api/address/${scriptPath('p2wpkh')}/txs?limit=3`);
    before.coins = await api.json(`/api/address/${shop}/utxos?limit=2`);
    before.oldCoins = await api.json(`/api/address/${shop}/utxos?limit=1`);
    before.balance = await api.json(`/api/balance/${scriptPath(UNLUCKY)}`);
    const socket = await api.socket();
    socket.send({ type: 'status', id: 1, data: {} });
    seqBefore = (await socket.until('status', ({ type }) => type === 'status')).data.seq as number;
    await early.stop();

    node = await startNode({ datadir, args: ['--import', files.branch] });
    const fresh = tempDir();
    await importFiles('regtest', fresh, [files.winner]);
    other = await startNode({ datadir: fresh });
    await node.height(newTip.height);
  }, 180_000);
  afterAll(async () => {
    await Promise.all([node?.stop(), other?.stop()]);
  });

  test('was followed by the one node and not by the other', async () => {
    expect(before.balance as unknown as Balance).toMatchObject({ confirmed: 4_0000_0000, tip: staleTip });
    for (const { api } of [node, other]) expect((await api.json<Balance>(`/api/balance/${shop}`)).tip).toEqual(newTip);
    const { api } = node;
    expect(await api.json<BlockBody>(`/api/block/${staleTip.hash}`)).toMatchObject({
      height: staleTip.height,
      inActiveChain: false,
      confirmations: -1,
    });
    expect((await other.api.request(`/api/block/${staleTip.hash}`)).status).toBe(404);
  });

  test('leaves both with the same blocks, balances, histories, coins and supply', async () => {
    const [after, never] = await Promise.all([everything(node.api, scripts), everything(other.api, scripts)]);
    expect(after).toEqual(never);
    // The chain of the test counts the same way.
    const supply = winner.coins.values().reduce((sum, { output }) => sum + output.value, 0n);
    expect(after.listing).toMatchObject({ supply: { circulatingBase: Number(supply) } });
    expect(after.coins).toMatchObject({ txouts: winner.coins.size });
    const owned = winner.coinsOf(SHOP).reduce((sum, { output }) => sum + output.value, 0n);
    expect((after.owners[shop.slice('script:'.length)] as { balance: Balance }).balance.confirmed).toBe(Number(owned));
  });

  test('moves a payment, and loses another', async () => {
    const txid = hashToHex(txidOf(reconfirmed));
    expect(await node.api.json<object>(`/api/tx/${txid}`)).toMatchObject({
      status: { blockHash: hashToHex(winner.at(FORK_HEIGHT + 6).hash), blockHeight: FORK_HEIGHT + 6, blockIndex: 1 },
    });
    const gone = await node.api.request<ErrorBody>(`/api/tx/${hashToHex(txidOf(lost))}`);
    expect([gone.status, gone.body.error.code]).toEqual([404, 'tx_not_found']);
    expect(await node.api.json<Balance>(`/api/balance/${scriptPath(UNLUCKY)}`)).toMatchObject({
      confirmed: 0,
      received: 0,
      txCount: 0,
      firstSeenHeight: null,
    });
    const { items } = await node.api.json<Page<Utxo>>(`/api/address/${scriptPath(UNLUCKY)}/utxos`);
    expect(items).toEqual([]);
  });

  test('stops a reader whose position is gone, and reports where to continue', async () => {
    for (const page of [before.newest!, before.unlucky!, before.coins!]) {
      const reply = await node.api.request<ErrorBody>(page.next!);
      expect([page.next, reply.status, reply.body.error?.code]).toEqual([page.next, 409, 'cursor_reorged']);
      expect(reply.body.error.details).toMatchObject({ forkHeight: FORK_HEIGHT, tip: newTip as object });
    }
  });

  test('does not disturb a reader whose position still stands', async () => {
    for (const [page, path] of [
      [before.oldest!, `/api/address/${shop}/txs?order=asc`],
      [before.oldCoins!, `/api/address/${shop}/utxos`],
    ] as const) {
      const next = await node.api.json<Page<unknown>>(page.next!.replace('limit=1', 'limit=500'));
      const { items } = await other.api.json<Page<unknown>>(path);
      // A page that was read before counts confirmations of then.
      expect(next.items).toEqual(items.slice(1));
    }
  });

  test('is delivered in order', async () => {
    const socket = await node.api.socket();
    socket.send({
      type: 'subscribe',
      id: 1,
      data: { events: ['newBlock', 'blockDisconnected', 'reorg'], replace: true },
    });
    await socket.until('ack', ({ type, id }) => type === 'ack' && id === 1);
    socket.send({ type: 'resume', id: 2, data: { after: seqBefore } });
    await socket.until('the last block', ({ type, data }) => type === 'newBlock' && data.height === newTip.height);
    // Events of the mempool ended with the process before, but this client wants none, so it gets no gap.
    const events = socket.messages.filter(({ type }) => type !== 'ack');
    const sequence = events.map(({ data }) => data.seq as number);
    expect(sequence).toEqual([...new Set(sequence)].toSorted((a, b) => a - b));
    expect(sequence[0]).toBeGreaterThan(seqBefore);

    const range = (from: number, to: number) =>
      Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + Math.sign(to - from) * i);
    const down = events.filter(({ type }) => type === 'blockDisconnected').map(({ data }) => data);
    expect(down.map(({ height }) => height)).toEqual(range(staleTip.height, FORK_HEIGHT + 1));
    expect(down.map(({ hash }) => hash)).toEqual(down.map(({ height }) => hashToHex(stale.at(height as number).hash)));
    const up = events.filter(({ type }) => type === 'newBlock').map(({ data }) => data);
    expect(up.map(({ height }) => height)).toEqual(range(FORK_HEIGHT + 1, newTip.height));
    expect(up.map(({ hash }) => hash)).toEqual(up.map(({ height }) => hashToHex(winner.at(height as number).hash)));
    // The eleventh block of the branch makes it the longer one; the twelfth just follows.
    expect(up.map(({ reorg }) => reorg)).toEqual([...Array(STALE_BLOCKS + 1).fill(true), false]);
    expect(events.findLastIndex(({ type }) => type === 'blockDisconnected')).toBeLessThan(
      events.findIndex(({ type }) => type === 'newBlock'),
    );
    socket.close();
  });

  test('is delivered in one event, too', async () => {
    const socket = await node.api.socket();
    socket.send({ type: 'subscribe', id: 1, data: { events: ['newBlock', 'reorg'], replace: true } });
    await socket.until('ack', ({ type, id }) => type === 'ack' && id === 1);
    socket.send({ type: 'resume', id: 2, data: { after: seqBefore } });
    await socket.until('the last block', ({ type, data }) => type === 'newBlock' && data.height === newTip.height);
    const [reorg, ...more] = socket.messages.filter(({ type }) => type === 'reorg');
    expect(more).toEqual([]);
    expect(reorg?.data).toMatchObject({
      forkHeight: FORK_HEIGHT,
      forkHash: hashToHex(base.at(FORK_HEIGHT).hash),
      oldTip: staleTip as object,
      newTip: {
        height: FORK_HEIGHT + STALE_BLOCKS + 1,
        hash: hashToHex(winner.at(FORK_HEIGHT + STALE_BLOCKS + 1).hash),
      },
      depth: STALE_BLOCKS,
    });
    const fates = new Map((reorg!.data.txs as { txid: string; fate: string }[]).map(({ txid, fate }) => [txid, fate]));
    const idOf = (tx: Transaction) => hashToHex(txidOf(tx));
    expect(fates.get(idOf(reconfirmed))).toBe('reconfirmed');
    expect(fates.get(idOf(lost))).toBe('conflicted');
    expect(fates.get(idOf(stale.tip.txs[0]!))).toBe('dropped');
    // Payments that nothing in the new branch contradicts wait for a block again.
    const waiting = [...fates].filter(([, fate]) => fate === 'mempool').map(([txid]) => txid);
    expect(waiting.length).toBeGreaterThan(0);
    expect((await node.api.rpc<string[]>('getrawmempool')).sort()).toEqual(waiting.sort());
    socket.close();
  });

  test('keeps the stale branch unconnected when the files come in the other order', async () => {
    const datadir = tempDir();
    await importFiles('regtest', datadir, [files.winner, files.stale]);
    const reversed = await startNode({ datadir });
    expect(await everything(reversed.api, scripts)).toEqual(await everything(other.api, scripts));
    expect(await reversed.api.json<BlockBody>(`/api/block/${staleTip.hash}`)).toMatchObject({ inActiveChain: false });
    await reversed.stop();
  });
});
