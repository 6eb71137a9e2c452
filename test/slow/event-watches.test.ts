import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { AuthStore } from '../../src/auth/auth-store.ts';
import { issueKey } from '../../src/auth/issue-key.ts';
import { WatchStore } from '../../src/feed/watch-store.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { addressOf } from '../../src/script/address.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { broadcast, idOf, mempoolLoaded, mine, nodeWith, post } from '../lib/mempool-node.ts';
import { ApiClient, type ErrorBody, EventSocket, type Page, type WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, poll, startNode } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';

cleanUpAfterTests();

interface Watch {
  readonly id: string;
  readonly value: string;
  readonly confirmations: readonly number[];
  readonly label: string | null;
}

interface EventPage {
  readonly items: readonly WsMessage[];
  readonly lastSeq: number;
}

const SHOP = lockOf('p2wpkh', 9);

const txWatches = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ kind: 'tx', value: (from + i).toString(16).padStart(64, '0') }));
const isDerived = ({ type }: WsMessage) => type === 'addressTransaction' || type === 'confirmation';
const summary = ({ data }: WsMessage) => [data.phase ?? data.threshold, data.txid, data.watchId];

/** A key made by another process, once the node knows it. */
async function newKey(node: NodeProcess, scopes: string[] = ['read']): Promise<{ api: ApiClient; id: string }> {
  const store = new AuthStore(join(node.networkDir, 'auth.db'));
  const { key, record } = issueKey(store, { label: '', scopes }, 1);
  store.close();
  const api = new ApiClient(node.api.url, key);
  // The key is known within two seconds; the node would take more frequent requests for guesses.
  const isKnown = async () => (await api.request('/api/watches')).status === 200;
  await node.until('the key', isKnown, 10_000, 500);
  return { api, id: record.id };
}

function revoke(node: NodeProcess, id: string): void {
  const store = new AuthStore(join(node.networkDir, 'auth.db'));
  store.revokeKey(id, Math.floor(Date.now() / 1000));
  store.close();
}

function ticketSocket(api: ApiClient, ticket: string): Promise<EventSocket> {
  const url = `${api.url.replace('http', 'ws')}/ws?ticket=${ticket}`;
  return EventSocket.open(url, { origin: 'https://shop.example' });
}

describe('deposits to a watched address', () => {
  const chain: RegtestChain = recentChain(130);
  const address = addressOf(SHOP.scriptPubKey, chain.params.address)!;
  let node: NodeProcess;
  let coin = 1;
  let id = '';
  let last = '';
  const deposits: Transaction[] = [];

  const deposit = (): Transaction => {
    const from = chain.coin(coin++);
    const tx = spend(from, [
      { to: SHOP, value: 1_0000n },
      { to: 'p2tr', value: from.output.value - 2_0000n },
    ]);
    deposits.push(tx);
    return tx;
  };

  const derived = async (socket: EventSocket, count: number): Promise<WsMessage[]> => {
    await socket.until(`${count} messages`, () => socket.messages.filter(isDerived).length >= count);
    return socket.messages.filter(isDerived);
  };

  beforeAll(async () => {
    node = await nodeWith(chain, ['--log.level=debug']);
  });

  test('reach a WebSocket that sends nothing, one opened with a ticket, and GET /api/events', async () => {
    const request = { kind: 'address', value: address, confirmations: [0, 1, 2], label: 'shop' };
    const made = await post<Watch>(node.api, '/api/watches', request);
    expect(made.status).toBe(200);
    ({ id } = made.body);
    const before = await node.api.json<EventPage>('/api/events');
    const { ticket } = (await post<{ ticket: string }>(node.api, '/api/ws-ticket', {})).body;
    const sockets = [await node.api.socket(), await ticketSocket(node.api, ticket)];
    await expect(ticketSocket(node.api, ticket)).rejects.toThrow('no WebSocket');
    const tx = deposit();
    await broadcast(node.api, tx);
    await mine(node.api, chain, [tx]);
    const expected = ['mempool', 0, 'confirmed', 1].map((what) => [what, idOf(tx), id]);
    for (const socket of sockets) expect((await derived(socket, 4)).map(summary)).toEqual(expected);
    const query = `after=${before.lastSeq}&types=addressTransaction,confirmation`;
    const page = await node.api.json<EventPage>(`/api/events?${query}`);
    expect([...page.items]).toEqual(sockets[0]!.messages.filter(isDerived));
    last = page.items.at(-1)!.data.cursor as string;
    for (const socket of sockets) socket.close();
    expect(node.stderr).not.toContain(ticket);
  });

  test('are delivered after kill -9 with resume, without a gap', async () => {
    const stored = await node.api.json<Page<Watch>>('/api/watches');
    expect(stored.items).toMatchObject([{ id, value: address, confirmations: [0, 1, 2], label: 'shop' }]);
    await node.stop('SIGKILL');
    node = await startNode({ datadir: node.datadir });
    await mempoolLoaded(node);
    expect((await node.api.json<Page<Watch>>('/api/watches')).items).toEqual(stored.items);
    const tx = deposit();
    await mine(node.api, chain, [tx]);
    const socket = await node.api.socket();
    socket.send({ type: 'resume', id: 1, data: { after: last } });
    const expected = [
      ['confirmed', idOf(tx), id],
      [1, idOf(tx), id],
      [2, idOf(deposits[0]!), id],
    ];
    expect((await derived(socket, 3)).map(summary)).toEqual(expected);
    const page = await node.api.json<EventPage>(`/api/events?after=${last}`);
    expect(page.items.filter(isDerived)).toEqual(socket.messages.filter(isDerived));
    socket.close();
  });

  test('end with the key, with its connection, its tickets and its rows', async () => {
    const { api, id: keyId } = await newKey(node);
    expect((await post(api, '/api/watches', { watches: txWatches(0, 100) })).status).toBe(200);
    const { ticket } = (await post<{ ticket: string }>(api, '/api/ws-ticket', {})).body;
    const socket = await api.socket();
    revoke(node, keyId);
    expect((await socket.closed).code).toBe(4001);
    expect((await api.request('/api/watches')).status).toBe(401);
    await expect(ticketSocket(api, ticket)).rejects.toThrow('no WebSocket');
    await poll('its rows are gone', () => {
      const store = new WatchStore(join(node.networkDir, 'watches.db'));
      const owners = store.all(0, 1000).map(({ owner }) => owner);
      store.close();
      return owners.length === 1 && !owners.includes(keyId);
    });
  });

  test('of a key that is revoked while the node is down end as well', async () => {
    const { api, id: keyId } = await newKey(node);
    await post(api, '/api/watches', { watches: txWatches(0, 100) });
    await node.stop();
    revoke(node, keyId);
    node = await startNode({ datadir: node.datadir });
    await node.until('its watches are gone', async () => {
      const { text } = await node.api.request<string>('/metrics');
      const store = new WatchStore(join(node.networkDir, 'watches.db'));
      const rows = store.all(0, 1000).length;
      store.close();
      return rows === 1 && text.includes('obverse_ws_watched{by="key"} 1\n');
    });
  });
});

describe('many watches', () => {
  const chain: RegtestChain = recentChain(120);
  const address = addressOf(SHOP.scriptPubKey, chain.params.address)!;
  let node: NodeProcess;
  beforeAll(async () => {
    node = await nodeWith(chain);
  });

  test('are durable after kill -9 once they are acknowledged, and a list is stored whole or not at all', async () => {
    const SIZE = 50;
    let acknowledged = 0;
    let going = true;
    const writing = (async () => {
      for (let n = 0; going; n++) {
        const reply = await post(node.api, '/api/watches', { watches: txWatches(n * SIZE, SIZE) }).catch(() => null);
        if (reply?.status !== 200) return;
        acknowledged = (n + 1) * SIZE;
      }
    })();
    await node.until('some lists', () => acknowledged >= 10 * SIZE);
    await node.stop('SIGKILL');
    going = false;
    await writing;
    node = await startNode({ datadir: node.datadir });
    await mempoolLoaded(node);
    const { items } = await node.api.all<Watch>('/api/watches?limit=1000');
    expect(items.length % SIZE).toBe(0);
    expect(items.length).toBeGreaterThanOrEqual(acknowledged);
    expect(items.map(({ value }) => value)).toEqual(txWatches(0, items.length).map(({ value }) => value));
    expect((await node.api.request('/api/watches?all=true', { method: 'DELETE' })).body).toMatchObject({ total: 0 });
  });

  test('are bounded, are delivered, and do not hold up others', async () => {
    let slowest = 0;
    let going = true;
    const probe = (async () => {
      while (going) {
        const from = performance.now();
        await node.api.request('/healthz');
        slowest = Math.max(slowest, performance.now() - from);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    })();
    const shop = { kind: 'address', value: address };
    for (let i = 0; i < 10; i++) {
      const watches = [...txWatches(i * 1000, 999), i === 0 ? shop : txWatches(i * 1000 + 999, 1)[0]];
      expect((await post(node.api, '/api/watches', { watches })).status).toBe(200);
    }
    const over = await post<ErrorBody>(node.api, '/api/watches', { kind: 'tx', value: 'ff'.repeat(32) });
    expect([over.status, over.body.error.code]).toEqual([409, 'limit_exceeded']);
    expect(over.body.error.details).toEqual({ limit: 10_000, watched: 10_000, added: 1 });
    const many = await post<ErrorBody>(node.api, '/api/watches', { watches: txWatches(0, 1001) });
    expect([many.status, many.body.error.code]).toEqual([400, 'invalid_parameter']);
    const foreign = await post<ErrorBody>(node.api, '/api/watches', {
      watches: [shop, { kind: 'address', value: '1BoatSLRHtKNngkdXEeobR76b53LETtpyT' }],
    });
    expect([foreign.status, foreign.body.error.code]).toEqual([400, 'invalid_address']);
    expect(foreign.body.error.details).toMatchObject({ index: 1, reason: 'wrong_network' });
    const again = await post<Watch & { created: boolean }>(node.api, '/api/watches', shop);
    expect(again.body.created).toBe(false);

    const socket = await node.api.socket();
    const from = chain.coin(1);
    const tx = spend(from, [{ to: SHOP, value: from.output.value - 1000n }]);
    await broadcast(node.api, tx);
    await mine(node.api, chain, [tx]);
    const isShop = ({ data }: WsMessage) => data.watchId === again.body.id && data.phase === 'confirmed';
    expect((await socket.until('the deposit', isShop)).data.txid).toBe(idOf(tx));
    going = false;
    await probe;
    console.info(`healthz beside 10,000 new watches: slowest ${slowest.toFixed(1)} ms`);
    expect(slowest).toBeLessThan(500);
    socket.close();
  });

  test('are all loaded before the first event is delivered', async () => {
    await node.stop();
    node = await startNode({ datadir: node.datadir });
    const socket = await node.api.socket();
    const from = chain.coin(2);
    const tx = spend(from, [{ to: SHOP, value: from.output.value - 1000n }]);
    await mine(node.api, chain, [tx]);
    await socket.until('the deposit', ({ data }) => data.phase === 'confirmed' && data.txid === idOf(tx));
    expect((await node.api.json<{ total: number }>('/api/watches?limit=1')).total).toBe(10_000);
    socket.close();
  });
});
